// The first bytes of clients that then stay silent.

export const FRAGMENTS = [
  "",
  "GET / HTTP/1.1\r\nHost: local",
  "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81\xfe",
  "\x00\x00\x00\x00",
];

// The second hop of the gateway in JavaScript: JSON behind four bytes of length, on a Unix socket.

/** @param {import("node:net").Socket} socket @param {object} message */
export function sendFrame(socket, message) {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.allocUnsafe(4);
  head.writeUInt32LE(body.length);
  socket.cork();
  socket.write(head);
  socket.write(body);
  socket.uncork();
}

/** @param {import("node:net").Socket} socket @param {(message: any) => void} onMessage */
export function onFrames(socket, onMessage) {
  /** @type {Buffer[]} */
  let pieces = [];
  let size = 0;
  let wanted = 4;
  socket.on("data", (piece) => {
    pieces.push(piece);
    size += piece.length;
    if (size < wanted) return;
    let bytes = pieces.length === 1 ? piece : Buffer.concat(pieces, size);
    while (bytes.length >= 4) {
      const end = 4 + bytes.readUInt32LE(0);
      if (bytes.length < end) break;
      onMessage(JSON.parse(bytes.toString("utf8", 4, end)));
      bytes = bytes.subarray(end);
    }
    pieces = bytes.length > 0 ? [bytes] : [];
    size = bytes.length;
    wanted = size >= 4 ? 4 + bytes.readUInt32LE(0) : 4;
  });
}

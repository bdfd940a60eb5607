# The one list of the core's sources. binding.gyp includes it; CMakeLists.txt reads it as text:
# one quoted path a line, relative to this folder.
{
  'variables': {
    'core_sources': [
      'base/encoding.cc',
      'base/json.cc',
      'base/json_number.cc',
      'base/json_scanner.cc',
      'base/json_string.cc',
      'base/json_writer.cc',
      'base/utf8.cc',
      'ws/connection.cc',
      'ws/frame.cc',
      'ws/frame_parser.cc',
      'ws/handshake.cc',
      'ws/http_request.cc',
      'ws/text_buffer.cc',
    ],
  },
}

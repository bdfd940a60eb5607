{
  'includes': ['native/sources.gypi'],
  'variables': {
    # By itself: a target's own sources wait until the libraries that it links are compiled.
    'entry': 'addon/entry.cc',
    # A release is optimised as a whole, which makes it smaller, and takes a third more time.
    'lto': ['<!@(node -p "process.env.TAP_ADDON_LTO ? \'-flto=auto\' : \'\'")'],
    # What needs Node's headers: only the addon has it.
    'outer_sources': [
      'addon/addon.cc',
      'addon/cycle_values.cc',
      'addon/environment.cc',
      'addon/gateway_class.cc',
      'addon/gateway_tokens.cc',
      'addon/globs_class.cc',
      'addon/guards_class.cc',
      'addon/line_source_class.cc',
      'addon/line_values.cc',
      'addon/plans_class.cc',
      'addon/records_class.cc',
      'addon/session_class.cc',
      'addon/strings.cc',
      'uv/deadline.cc',
      'uv/file_reads.cc',
      'uv/files.cc',
      'uv/flush_scheduler.cc',
      'uv/link_socket.cc',
      'uv/listeners.cc',
      'uv/peer_pid.cc',
      'uv/process.cc',
      'uv/provider_socket.cc',
      'uv/server.cc',
      'uv/server_host.cc',
      'uv/server_unread.cc',
      'uv/session_port.cc',
      'uv/stream.cc',
    ],
  },
  'target_defaults': {
    'include_dirs': [
      'native',
      '<!(node -p "require(\'node-addon-api\').include_dir")',
      '<!(node js/install/libraries.mjs pcre2 include)',
      '<!(node js/install/libraries.mjs sqlite include)',
    ],
    'defines': [
      'NAPI_VERSION=8',
      'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS',
      # A worker that is being ended cannot be told of anything: what is due then is no error.
      'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
      '<!@(node js/install/libraries.mjs sqlite defines)',
    ],
    # SQLite has a thread of its own, and is half as large again when compiled for speed.
    'cflags_c': [
      '-Os', '-w', '-fvisibility=hidden', '-ffunction-sections', '-fdata-sections',
      # Nothing is unwound: there are no exceptions.
      '-fno-asynchronous-unwind-tables', '-fno-unwind-tables',
    ],
    'cflags_cc!': ['-std=gnu++17'],
    'cflags_cc': [
      '-std=c++20', '-Wall', '-Wextra', '-fvisibility=hidden',
      '-ffunction-sections', '-fdata-sections',
      '-fno-asynchronous-unwind-tables', '-fno-unwind-tables',
    ],
    'conditions': [
      ['OS=="linux"', { 'cflags_cc': ['<@(lto)'] }],
      ['OS=="win"', { 'defines': ['PCRE2_STATIC'] }],
    ],
    'xcode_settings': {
      'CLANG_CXX_LANGUAGE_STANDARD': 'c++20',
      'MACOSX_DEPLOYMENT_TARGET': '11.0',
      'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
    },
    'msvs_settings': {
      'VCCLCompilerTool': { 'AdditionalOptions': ['/std:c++20', '/utf-8', '/bigobj'] },
    },
  },
  # Each library is a file that includes many: the headers are read twice in all instead of 80 times.
  # Both are compiled at the same time.
  'targets': [
    {
      'target_name': 'tap_cold',
      'type': 'static_library',
      'sources': [
        '<!(node js/install/addon-units.mjs cold <(core_sources) <(outer_sources))',
        '<!@(node js/install/libraries.mjs sqlite sources)',
      ],
      'cflags_cc': ['-Os'],
    },
    {
      'target_name': 'tap_hot',
      'type': 'static_library',
      'sources': ['<!(node js/install/addon-units.mjs hot <(core_sources) <(outer_sources))'],
      # Aligned code is a tenth larger, and executes as many instructions.
      'cflags_cc': ['-O2', '-fno-align-functions', '-fno-align-loops', '-fno-align-jumps', '-fno-align-labels'],
    },
    {
      'target_name': 'tap',
      'dependencies': ['tap_hot', 'tap_cold'],
      'sources': ['native/<(entry)'],
      'libraries': [
        '<!@(node js/install/libraries.mjs pcre2 libraries)',
        '<!@(node js/install/libraries.mjs sqlite libraries)',
      ],
      'conditions': [
        # PCRE2 and SQLite stay the addon's own: a process that has another version would lend it
        # otherwise.
        # nodelete: see native/addon/strings.cc. What is not exported can be left out where it is not used.
        ['OS=="linux"', {
          'ldflags': [
            '<@(lto)',
            '-Wl,--exclude-libs,ALL', '-Wl,--gc-sections', '-Wl,-z,nodelete',
            '-Wl,-z,noseparate-code', # three pages less
            '-Wl,--version-script=<(module_root_dir)/native/addon/exports.map',
          ],
        }],
      ],
    },
  ],
}

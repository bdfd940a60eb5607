{
  'includes': ['native/sources.gypi'],
  'targets': [
    {
      'target_name': 'tap',
      'sources': [
        '<!@(node -p "process.argv.slice(1).map((f) => \'native/\' + f).join(\' \')" <(core_sources))',
        'native/addon/addon.cc',
        'native/addon/environment.cc',
        'native/addon/gateway_class.cc',
        'native/addon/guards_class.cc',
        'native/addon/session_class.cc',
        'native/uv/deadline.cc',
        'native/uv/file_reads.cc',
        'native/uv/files.cc',
        'native/uv/link_socket.cc',
        'native/uv/provider_socket.cc',
        'native/uv/server.cc',
        'native/uv/session_port.cc',
        'native/uv/stream.cc',
      ],
      'include_dirs': [
        'native',
        '<!(node -p "require(\'node-addon-api\').include_dir")',
        '<!(node js/pcre2.mjs include)',
      ],
      'libraries': ['<!(node js/pcre2.mjs library)'],
      'defines': [
        'NAPI_VERSION=8',
        'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS',
        # A worker that is being ended cannot be told of anything: what is due then is no error.
        'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
      ],
      'cflags_cc!': ['-std=gnu++17'],
      'cflags_cc': ['-std=c++20', '-O2', '-Wall', '-Wextra', '-fvisibility=hidden'],
      'conditions': [
        # PCRE2 stays the addon's own: a process that has another version would lend it otherwise.
        ['OS=="linux"', { 'ldflags': ['-Wl,--exclude-libs,ALL'] }],
        ['OS=="win"', { 'defines': ['PCRE2_STATIC'] }],
      ],
      'xcode_settings': {
        'CLANG_CXX_LANGUAGE_STANDARD': 'c++20',
        'MACOSX_DEPLOYMENT_TARGET': '11.0',
        'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
      },
      'msvs_settings': {
        'VCCLCompilerTool': { 'AdditionalOptions': ['/std:c++20', '/utf-8'] },
      },
    },
  ],
}

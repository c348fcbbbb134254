// Keeps tap from reading each module of a test a second time, for a coverage of its own that is off here: a sixth
// of the processor time of a short file. tap names the files to leave out in this variable, and its hooks read it
// when they are loaded, so this file comes first, by NODE_OPTIONS. Programs that a test starts get none of it.
if (process.argv[1]?.endsWith('.test.ts') === true) {
  process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/./'
  delete process.env.NODE_OPTIONS
}

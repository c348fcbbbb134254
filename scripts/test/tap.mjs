// The tap of every test file. tap removes the directory of `t.testdir()` before the teardowns when the
// directory is made first: files of a gateway that still runs. A teardown registered before each test
// puts the removal last.
import t from 'tap'

t.beforeEach((child) => void child.teardown(() => undefined))
t.teardown(() => undefined)

export * from 'tap'
export { default } from 'tap'

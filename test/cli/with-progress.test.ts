import t from 'tap'
import { withProgress } from '../../src/cli/with-progress.js'

/** A terminal, and SIGINT. */
function terminal() {
  const at = { shown: '', listeners: new Set<() => void>() }
  const text = {
    isTTY: true,
    columns: 80,
    write(part: string) {
      at.shown += part
      return true
    },
  }
  const io = { stdout: text, stderr: text, setExitCode: () => undefined } as never
  const deps = {
    onSignal(_signal: string, act: () => void) {
      at.listeners.add(act)
      return () => void at.listeners.delete(act)
    },
  }
  const interrupt = () => {
    for (const act of at.listeners) act()
  }
  return { at, io, deps, interrupt }
}

/** Text that removes the bar of a line. */
const CLEARED = /\r +\r$/

t.test('withProgress: the bar is removed at the end, and SIGINT is no longer heard', async (t) => {
  const { at, io, deps } = terminal()
  const result = await withProgress(io, deps, async ({ progress }) => {
    progress.show(0.5, 'half')
    t.equal(at.listeners.size, 1)
    return 7
  })
  t.equal(result, 7)
  t.match(at.shown, / 50 % half/)
  t.match(at.shown, CLEARED)
  t.equal(at.listeners.size, 0)
})

t.test('withProgress: SIGINT fires the signal, and the verb says that it was stopped', async (t) => {
  const { at, io, deps, interrupt } = terminal()
  const work = async ({ signal }: { signal: AbortSignal }) => {
    interrupt()
    signal.throwIfAborted()
  }
  await t.rejects(withProgress(io, deps, work, 'stopped; nothing was written'), {
    message: 'stopped; nothing was written',
    cause: { name: 'AbortError' },
  })
  await t.rejects(withProgress(io, deps, work), { name: 'AbortError' }, 'the error of the work itself')
  t.equal(at.listeners.size, 0)
})

t.test('withProgress: an error of the work is thrown as it is, after the bar is removed', async (t) => {
  const { at, io, deps } = terminal()
  const fault = new Error('the disk is full')
  const work = async ({ progress }: { progress: { show(fraction: number, what: string): void } }) => {
    progress.show(0, 'begun')
    throw fault
  }
  await t.rejects(withProgress(io, deps, work, 'stopped'), fault)
  t.match(at.shown, CLEARED)
})

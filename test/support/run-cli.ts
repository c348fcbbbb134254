import type { CliDeps, CliIo } from '../../src/cli/io.js'
import { runCli } from '../../src/cli/main.js'
import { createLog } from '../../src/log.js'
import { workerEntry } from './worker-entry.js'

export interface CliRun {
  code: number
  stdout: string
  stderr: string
}

/** What runs on while a verb serves: what was printed so far, and how to send it a signal. */
export interface RunningCli {
  stdout(): string
  stderr(): string
  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void
  ended: Promise<CliRun>
}

/** Runs a verb in this process. @param cwd folder that relative paths are taken from */
export async function cli(cwd: string, argv: readonly string[], env: CliDeps['env'] = {}): Promise<CliRun> {
  return await startCli(cwd, argv, env).ended
}

/** Starts a verb in this process without waiting for its end. */
export function startCli(
  cwd: string,
  argv: readonly string[],
  env: CliDeps['env'] = {},
  isTTY = false,
): RunningCli {
  const { io, deps, out, signal } = idleDeps(cwd, env, isTTY)
  return {
    stdout: () => out.stdout,
    stderr: () => out.stderr,
    signal,
    ended: runCli(argv, io, deps).then((code) => ({ code, ...out })),
  }
}

/** What a verb is given in place of a process: text is kept, signals are sent by `signal`. */
export function idleDeps(cwd: string, env: CliDeps['env'] = {}, isTTY = false) {
  const out = { stdout: '', stderr: '' }
  const listeners = new Map<string, Set<() => void>>()
  const append = (to: 'stdout' | 'stderr') => ({
    write(text: string) {
      out[to] += text
    },
  })
  const deps: CliDeps = {
    env,
    cwd,
    get entryFile() {
      return workerEntry()
    },
    version: '1.2.3',
    createLog: (level) => createLog(level, append('stderr')),
    makeFilesPrivate: () => undefined,
    keepHeapSmall: () => undefined,
    onSignal(signal, act) {
      const acts = listeners.get(signal) ?? new Set()
      listeners.set(signal, acts.add(act))
      return () => void acts.delete(act)
    },
  }
  const io: CliIo = {
    stdout: { ...append('stdout'), isTTY },
    stderr: append('stderr'),
    setExitCode: () => undefined,
  }
  const signal: RunningCli['signal'] = (name) => {
    for (const act of [...(listeners.get(name) ?? [])]) act()
  }
  return { io, deps, out, signal }
}

/** Waits until something is printed, or the verb has ended without. */
export async function printed(running: RunningCli, text: RegExp, limitMs = 120_000): Promise<string> {
  const endAt = performance.now() + limitMs
  let isOver = false
  void running.ended.finally(() => {
    isOver = true
  })
  while (!text.test(running.stdout() + running.stderr())) {
    if (isOver || performance.now() > endAt) {
      throw new Error(`${text} was not printed; stdout: ${running.stdout()} stderr: ${running.stderr()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return running.stdout()
}

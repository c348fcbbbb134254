import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** Command that ends with this process. */
export interface TiedProcess {
  /** of the command */
  readonly pid: number
  readonly stdout: Readable
  /** Ends the command and all that it started. */
  end(): void
  /** how the command failed, with the end of its standard error; undefined when it did not */
  readonly ended: Promise<string | undefined>
}

/** Waits until the other end of descriptor 3 is closed, then ends the process group; the command runs beside it. */
const TIED = '{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & exec "$@" 3<&-'
/** Longest part of standard error that is told, characters. */
const TOLD = 4000

/**
 * Starts a command in a process group of its own, which ends with this process, however that ends: a file of
 * tests that takes too long is killed, and runs no teardown.
 */
export function spawnTied(
  command: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): TiedProcess {
  const child = spawn('bash', ['-c', TIED, 'bash', ...command], {
    ...options,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const [, stdout, stderr, tie] = child.stdio
  if (stdout === null || stderr === null || child.pid === undefined)
    throw new Error('the command has no pipes')
  let told = ''
  stderr.on('data', (chunk) => {
    told = `${told}${chunk}`.slice(-TOLD)
  })
  const ended = once(child, 'exit').then(([code, signal]) =>
    code === 0 ? undefined : `ended with ${code ?? signal}: ${told}`,
  )
  return { pid: child.pid, stdout, end: () => void tie?.destroy(), ended }
}

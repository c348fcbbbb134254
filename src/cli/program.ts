import { setFlagsFromString } from 'node:v8'
import { createLog } from '../log.js'
import type { CliDeps, CliIo } from './io.js'
import { runCli } from './main.js'

/** Defined by the bundler; undefined when the sources run unbundled. */
declare const __FIELDGATE_VERSION__: string | undefined

/**
 * Runs the program's command line in this process.
 *
 * @param entryFile this program's own file, for worker threads
 * @returns exit code
 */
export function runProgram(argv: readonly string[], entryFile: string): Promise<number> {
  process.stdout.on('error', endOnBrokenPipe)
  const io: CliIo = { stdout: process.stdout, stderr: process.stderr, setExitCode: () => undefined }
  return runCli(argv, io, processDeps(entryFile))
}

/** Version of this program; `0.0.0-dev` outside the bundle. */
function programVersion(): string {
  return typeof __FIELDGATE_VERSION__ === 'string' ? __FIELDGATE_VERSION__ : '0.0.0-dev'
}

/** Ends the process when the reader of a pipe has ended, as in `fieldgate key list | head -1`. */
function endOnBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
}

function processDeps(entryFile: string): CliDeps {
  return {
    env: process.env,
    cwd: process.cwd(),
    entryFile,
    version: programVersion(),
    createLog: (level) => createLog(level),
    keepHeapSmall,
    makeFilesPrivate: () => void process.umask(0o077),
    onSignal(signal, act) {
      process.on(signal, act)
      return () => void process.off(signal, act)
    },
  }
}

/**
 * Keeps V8's space for young objects small. By default it grows to 128 MB on a large machine, in each busy
 * thread. V8 reads the flag each time before the space would grow, so it also applies to threads. Nothing is
 * limited: a thread that needs more memory gets it. Collecting old objects sooner as well
 * (`--heap-growing-percent=100`) saved another 30 MB, but made the slowest pages of records take half as long
 * again. Where most objects of a place in the code were alive when the small space was collected, V8 allocates them
 * as old ones from then on, and frees them late: while rows were sent that was up to 80 MB, in half of the runs.
 *
 * A hub answers hundreds of requests at the same time. Its space grows to what the command line allows
 * (`fieldgate-hub.service`: 4 MB), so that fewer of their objects become old before they are dead. Old ones are mostly
 * those of requests that have been answered, of which V8 would keep four times what is alive (5,000 gateways:
 * 700 MB, and 400 without).
 */
function keepHeapSmall(isHub = false): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
  setFlagsFromString(isHub ? '--heap-growing-percent=50' : '--semi-space-growth-factor=1')
}

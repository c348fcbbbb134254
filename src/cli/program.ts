import { setFlagsFromString } from 'node:v8'
import { createLog } from '../log.js'
import type { CliDeps, CliIo } from './io.js'
import { runCli } from './main.js'

/** Put in by the bundler; absent when the sources run as they are. */
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
export function programVersion(): string {
  return typeof __FIELDGATE_VERSION__ === 'string' ? __FIELDGATE_VERSION__ : '0.0.0-dev'
}

/** `fieldgate key list | head -1` is no fault of ours. */
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
 * Of itself V8 lets the space for young objects grow to 128 MB on a large machine, in each thread that is busy. The setting is read
 * whenever it would grow, so it holds for the threads too. It caps nothing: what is needed is had. (Collecting old objects sooner
 * as well, by `--heap-growing-percent=100`, took another 30 MB, and half as long again for the slowest pages of records.)
 */
function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

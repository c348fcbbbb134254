import { createRequire } from 'node:module'
import path from 'node:path'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { RUN_SCRIPT } from './dataproc/run-script.js'

/** Oldest version that the addon and some packages support. An older Node would crash in the addon. */
const NODE_MAJOR = 24

void main()

/** Runs the command line, or in a worker thread the role of `workerData.role`. */
async function main(): Promise<void> {
  const major = Number(process.versions.node.split('.')[0])
  if (major < NODE_MAJOR) {
    process.stderr.write(`fieldgate: expected Node ${NODE_MAJOR} or newer, found ${process.versions.node}\n`)
    process.exitCode = 2
    return
  }
  // Node would open its inspector on a port of 127.0.0.1, and who reaches that is this process
  if (isMainThread) process.on('SIGUSR1', () => undefined)
  if (isMainThread && process.argv[2] === RUN_SCRIPT) return runScript(process.argv.slice(3))
  if (isMainThread) {
    const { runProgram } = await import('./cli/program.js')
    process.exitCode = await runProgram(process.argv.slice(2), entryFile())
    return
  }
  if (parentPort === null) throw new Error('a worker thread has a parent port')
  if (workerData.role === 'search') {
    const { runSearchWorker } = await import('./gateway/workers/search.js')
    runSearchWorker(parentPort, workerData)
  } else if (workerData.role === 'help') {
    const { runHelpWorker } = await import('./gateway/workers/help.js')
    runHelpWorker(parentPort, workerData)
  } else if (workerData.role === 'reader') {
    const { runReaderWorker } = await import('./gateway/workers/reader.js')
    runReaderWorker(parentPort, workerData)
  } else if (workerData.role === 'job') {
    const { runJobWorker } = await import('./gateway/workers/job.js')
    runJobWorker(parentPort, workerData)
  } else if (workerData.role === 'backup') {
    const { runBackupWorker } = await import('./gateway/workers/backup.js')
    runBackupWorker(parentPort, workerData)
  } else {
    const found = String(workerData.role)
    throw new Error(`found the worker role ${found}, expected search, help, reader, job or backup`)
  }
}

/** Runs a .js or .ts file as Node would. @param args the file, then its own arguments */
function runScript(args: readonly string[]): void {
  const [file] = args
  if (file === undefined) {
    process.stderr.write('fieldgate: run-script needs a file\n')
    process.exitCode = 2
    return
  }
  process.argv = [process.execPath, ...args]
  const whole = path.resolve(file)
  createRequire(whole)(whole)
}

/** Returns the file of this program, which worker threads run. `__filename` exists in the bundle only. */
function entryFile(): string {
  return typeof __filename === 'string' ? __filename : (process.argv[1] ?? '')
}

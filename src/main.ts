import { isMainThread, parentPort, workerData } from 'node:worker_threads'

/** The addon and some of the packages need it; an older Node would crash in the addon instead of saying so. */
const NODE_MAJOR = 24

void main()

/** One file is the command line, the gateway, and each of its worker threads: `workerData.role` tells which. */
async function main(): Promise<void> {
  const major = Number(process.versions.node.split('.')[0])
  if (major < NODE_MAJOR) {
    process.stderr.write(`fieldgate: Node ${NODE_MAJOR} is needed, found ${process.versions.node}\n`)
    process.exitCode = 2
    return
  }
  if (isMainThread) {
    const { runProgram } = await import('./cli/program.js')
    process.exitCode = await runProgram(process.argv.slice(2), entryFile())
    return
  }
  if (parentPort === null) throw new Error('a worker thread has a parent port')
  if (workerData.role === 'search') {
    const { runSearchWorker } = await import('./search-worker.js')
    runSearchWorker(parentPort, workerData)
  } else if (workerData.role === 'job') {
    const { runJobWorker } = await import('./job-worker.js')
    runJobWorker(parentPort, workerData)
  } else if (workerData.role === 'backup') {
    const { runBackupWorker } = await import('./backup-worker.js')
    runBackupWorker(parentPort, workerData)
  } else throw new Error(`found the worker role ${String(workerData.role)}, expected search, job or backup`)
}

/** This program's own file, for starting worker threads: `__filename` exists in the bundle. */
function entryFile(): string {
  return typeof __filename === 'string' ? __filename : (process.argv[1] ?? '')
}

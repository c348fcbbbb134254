import { rmSync } from 'node:fs'
import path from 'node:path'
import { buildWorker } from './build-worker.js'

/**
 * Bundle of the program for the worker threads of a gateway in a test, so that a thread starts quickly. `npm
 * test` builds it once and names it in the environment; a file of tests that runs alone builds its own.
 */
export function workerEntry(): string {
  built ??= process.env.TEST_WORKER_FILE ?? buildForThisProcess()
  return built
}

let built: string | undefined

function buildForThisProcess(): string {
  const outfile = path.resolve(`build/test/worker-${process.pid}.cjs`)
  buildWorker(outfile)
  process.on('exit', () => rmSync(outfile, { force: true }))
  return outfile
}

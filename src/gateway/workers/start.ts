import { existsSync } from 'node:fs'
import path from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { isSingleExecutable, readAsset } from '../../assets.js'

export type WorkerRole = 'search' | 'job' | 'backup'

/**
 * Starts a thread. Each has a small bundle of its own, since what the whole program needs would be read and kept in
 * memory by every thread again. Without it beside the program, the program's own file does the same.
 *
 * @param programFile the bundle, or in the single executable the executable, which no thread can run: there the
 *   thread's bundle is inside
 */
export function startWorker(programFile: string, role: WorkerRole, options: WorkerOptions): Worker {
  const name = `${role}-worker.cjs`
  if (isSingleExecutable()) {
    const source = readAsset(name)
    if (source === undefined) throw new Error(`the executable was built without ${name}`)
    return new Worker(source.toString('latin1'), { ...options, eval: true }) // the bundler writes ASCII only
  }
  const beside = path.join(path.dirname(programFile), name)
  return new Worker(existsSync(beside) ? beside : programFile, options)
}

import { existsSync } from 'node:fs'
import path from 'node:path'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { isSingleExecutable, readAsset } from '../../assets.js'

export type WorkerRole = 'search' | 'help' | 'reader' | 'job' | 'backup'

/**
 * Starts a thread. Each role has a bundle of its own: every thread that ran the program's bundle would read
 * it and keep it in memory again. Where the role's bundle is absent (tests), the program's bundle is run.
 *
 * @param programFile the program's bundle; in the single executable, which a thread cannot run, the role's
 *   bundle is read from inside it
 */
export function startWorker(programFile: string, role: WorkerRole, options: WorkerOptions): Worker {
  const name = `${role}-worker.cjs`
  if (isSingleExecutable()) {
    const source = readAsset(name)
    if (source === undefined) throw new Error(`the executable does not contain ${name}`)
    return new Worker(source.toString('latin1'), { ...options, eval: true }) // the bundler writes ASCII only
  }
  const beside = path.join(path.dirname(programFile), name)
  return new Worker(existsSync(beside) ? beside : programFile, options)
}

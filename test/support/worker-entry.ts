import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { buildSync } from 'esbuild'

/**
 * The program as one file, for the worker threads of a gateway in a test: the sources as they are now, without the
 * test loader, which would take seconds in each thread. Built once a process.
 */
export function workerEntry(): string {
  if (built !== undefined) return built
  const folder = path.resolve('build/test')
  mkdirSync(folder, { recursive: true })
  const outfile = path.join(folder, `worker-${process.pid}.cjs`)
  buildSync({
    entryPoints: ['src/main.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // no more than cannot be bundled: of an ES module, a CommonJS file would not see the default export
    external: ['better-sqlite3'],
    outfile,
    logLevel: 'error',
  })
  process.on('exit', () => rmSync(outfile, { force: true }))
  built = outfile
  return outfile
}

let built: string | undefined

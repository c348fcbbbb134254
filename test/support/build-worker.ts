import { buildSync } from 'esbuild'

/**
 * Writes the program as one file for the worker threads of tests. Its map back to the sources, for coverage,
 * is a file beside it that it does not name: each thread would read it.
 */
export function buildWorker(outfile: string): void {
  buildSync({
    entryPoints: ['src/main.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    // an ES module's default export that is bundled into CommonJS would not be found by `require` from
    // outside
    external: ['better-sqlite3'],
    sourcemap: 'external',
    sourcesContent: false,
    outfile,
    logLevel: 'error',
  })
}

// Loads the facts of the program (docs-facts.ts) for generated documents.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** Bundles docs-facts.ts with the sources that it reads, and returns its facts. */
export async function loadFacts() {
  mkdirSync('build', { recursive: true })
  const outfile = path.resolve('build/docs-facts.cjs')
  await build({
    entryPoints: ['scripts/docs-facts.ts'],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['better-sqlite3'],
    outfile,
    logLevel: 'warning',
  })
  return (await import(pathToFileURL(outfile).href)).default.facts()
}

// Loads the facts of the program (docs-facts.ts) for generated documents.
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** @returns facts of docs-facts.ts; each error has the console's English `advice` too, '' where there is none */
export async function loadFacts() {
  const { facts } = await load('scripts/docs-facts.ts', 'build/docs-facts.cjs')
  const { adviceFor } = await load('scripts/docs/advice.mjs', 'build/docs-advice.cjs')
  const known = await facts()
  return {
    ...known,
    errors: known.errors.map((error) => ({ ...error, advice: adviceFor(error.name, 'en') })),
  }
}

/** Bundles a file with the sources that it reads, and loads the bundle. */
async function load(entry, output) {
  mkdirSync('build', { recursive: true })
  const outfile = path.resolve(output)
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['better-sqlite3'],
    outfile,
    logLevel: 'warning',
  })
  return (await import(pathToFileURL(outfile).href)).default
}

import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'esbuild'

/** Returns the path of what `buildChild` makes. */
export const childPath = (name) => path.resolve(`build/bench-${name}.cjs`)

/** Bundles `scripts/bench/NAME.ts`. @returns the path of the program, or library, in build/ */
export async function buildChild(name) {
  mkdirSync('build', { recursive: true })
  const outfile = childPath(name)
  await build({
    entryPoints: [`scripts/bench/${name}.ts`],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
    external: ['better-sqlite3'],
    logLevel: 'warning',
  })
  return outfile
}

/** Returns what benches in plain JavaScript need of the program: the exports of `routing-lib.ts`. */
export async function openLib() {
  const file = await buildChild('routing-lib')
  return createRequire(file)(file)
}

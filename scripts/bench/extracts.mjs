// OSM extracts that the benches share: Porto, which lies beside the repository, and 20 joined Portos made of
// it.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync } from 'node:fs'
import path from 'node:path'

const DATA = path.resolve('../shared/data/osm')

export const PORTO = path.join(DATA, 'porto_portugal.osm.pbf')
export const PORTO_ALEGRE = path.join(DATA, 'porto-alegre-poa.osm.pbf')
export const COLUMBUS = path.join(DATA, 'columbus.osm.pbf')
/** The smallest real place: what a process is warmed up on before its memory is taken. */
export const MONACO = path.join(DATA, 'monaco-2020.osm.pbf')

/** Real places of every size. */
export const EXTRACTS = existsSync(DATA)
  ? readdirSync(DATA)
      .filter((name) => name.endsWith('.osm.pbf'))
      .sort()
      .map((name) => path.join(DATA, name))
  : []

export function isThere(extract) {
  if (existsSync(extract)) return true
  console.log(`skipped: ${extract} does not exist`)
  return false
}

/** Joined Portos, made once and kept under build/; undefined, and told why, where osmium-tool is missing. */
export function makeMosaic(across = 4, down = 5) {
  const name = `mosaic${across * down}`
  const mosaic = path.resolve(`build/${name}.osm.pbf`)
  if (existsSync(mosaic)) return mosaic
  try {
    const highways = path.resolve('build/porto.hw.osm.pbf')
    const unfinished = path.resolve(`build/${name}.part.osm.pbf`)
    execFileSync('osmium', ['tags-filter', '-O', '-o', highways, PORTO, 'w/highway'], { stdio: 'ignore' })
    const make = path.join(DATA, 'make-mosaic.mjs')
    execFileSync(process.execPath, [make, highways, String(across), String(down), unfinished], {
      stdio: 'ignore',
    })
    renameSync(unfinished, mosaic)
    return mosaic
  } catch (error) {
    console.log(`${name} skipped: it needs osmium-tool (${error.code ?? error.message})`)
    return undefined
  }
}

import { existsSync } from 'node:fs'
import path from 'node:path'
import { InvalidArgumentError } from 'commander'
import { baseFileOf, layoutOf, mapFiles } from '../../files/layout.js'
import { type BaseFile, openBaseFile } from '../../storage/base-map/read.js'
import { fileFault } from '../file-fault.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import { megabytes } from './map-facts.js'

/** Options of `map find`. */
export interface FindFlags extends GlobalOptions {
  map?: string
  limit: number
}

const MAX_LIMIT = 100

export function isBaseFile(file: string): boolean {
  return file.endsWith('.mbtiles')
}

/** Base map beside a map file, or why it cannot be used; null where there is none. */
export function describeBase(mapFile: string) {
  const file = baseFileOf(mapFile)
  if (!existsSync(file)) return null
  try {
    return withBase(file, ({ meta, sizeBytes }) => ({
      file,
      bytes: sizeBytes,
      builtFrom: meta.builtFrom.file,
      osmTimestamp: meta.builtFrom.osmTimestamp,
    }))
  } catch (error) {
    return { file, fault: oneLine(error).replace(`${file}: `, '') }
  }
}

/** Returns the faults of a base map. Reads the whole file. @throws AppError BAD_BASE_MAP */
export function checkBase(file: string): string[] {
  return withBase(file, (base) => base.check())
}

/** Prints the properties of a base map. */
export function printBaseInfo(file: string, { json }: GlobalOptions, io: CliIo): void {
  withBase(file, ({ meta, sizeBytes, minZoom, maxZoom }) => {
    if (json === true) {
      printJson(io, { file, bytes: sizeBytes, minZoom, maxZoom, ...meta })
      return
    }
    const rows: [string, string][] = [
      ['file', file],
      ['name', meta.name],
      ['size', `${megabytes(sizeBytes)} MB`],
      ['zooms', `${minZoom} to ${maxZoom}`],
      ['layers', meta.layers.map(({ id }) => id).join(', ')],
      ['built from', `${meta.builtFrom.file}, data of ${meta.builtFrom.osmTimestamp ?? 'unknown date'}`],
      ['sha256', meta.builtFrom.sha256],
      ['built by', meta.builtBy],
      ['data', `${meta.attribution}, ${meta.licence}`],
      ['bbox', meta.bbox.join(', ')],
    ]
    for (const [what, value] of rows) io.stdout.write(`${what.padEnd(18)} ${value}\n`)
  })
}

/** Prints the places of the base maps that a text finds: name, kind, longitude and latitude, map. */
export function findPlaces(text: string, flags: FindFlags, io: CliIo, deps: CliDeps): void {
  const { dataDir, config } = readSettings(flags, deps)
  const layout = layoutOf(dataDir)
  const files = [...(existsSync(layout.mapsDir) ? mapFiles(layout) : []), ...config.routing.maps]
  const maps = files
    .map((file) => ({ name: path.basename(file, '.graph'), file: baseFileOf(file) }))
    .filter(({ name, file }) => existsSync(file) && (flags.map === undefined || flags.map === name))
  if (maps.length === 0)
    throw new Error(
      flags.map === undefined
        ? 'no map has a base map; `fieldgate map build EXTRACT --base` makes one'
        : `found no base map of ${JSON.stringify(flags.map)}; \`fieldgate map list\` shows the maps`,
    )
  const found = maps.flatMap(({ name, file }) =>
    withBase(file, (base) => base.findPlaces(text, flags.limit).map((place) => ({ ...place, map: name }))),
  )
  if (flags.json === true) {
    printJson(
      io,
      found.map(({ name, latin, kind, lng, lat, map }) => ({
        name,
        latin,
        kind,
        lonlat: [lng / 1e7, lat / 1e7],
        map,
      })),
    )
    return
  }
  for (const { name, latin, kind, lng, lat, map } of found) {
    const other = latin === '' ? '' : ` (${latin})`
    io.stdout.write(`${name}${other}  ${kind}  ${lng / 1e7}, ${lat / 1e7}  ${map}\n`)
  }
}

export function readLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_LIMIT)
    throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_LIMIT}.`)
  return limit
}

function withBase<T>(file: string, use: (base: BaseFile) => T): T {
  let base: BaseFile
  try {
    base = openBaseFile(file)
  } catch (error) {
    throw fileFault(error, file)
  }
  try {
    return use(base)
  } finally {
    base.close()
  }
}

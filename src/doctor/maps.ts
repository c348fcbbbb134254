import { existsSync, statSync } from 'node:fs'
import type { Config } from '../config/config.js'
import { messageOf } from '../errors.js'
import { checkGraphFile } from '../files/graph-file-check.js'
import { baseFileOf, mapFiles } from '../files/layout.js'
import { openBaseFile } from '../storage/base-map/read.js'
import { type CheckContext, error, type Finding, megabytes, ok, warning } from './finding.js'

/**
 * Checks the map files of the data directory and of `routing.maps`: size, header and checksums. Reads whole
 * files.
 */
export function checkMaps({
  layout,
  config,
  onProgress,
}: Pick<CheckContext, 'layout' | 'config' | 'onProgress'>): Finding[] {
  const files = [...(existsSync(layout.mapsDir) ? mapFiles(layout) : []), ...config.routing.maps]
  if (files.length === 0)
    return [ok('there is no map: routes cannot be computed until `fieldgate map build` has created one')]
  return files.flatMap((file) => {
    onProgress?.(file)
    const base = baseFileOf(file)
    return [checkMap(file, config.routing), ...(existsSync(base) ? [checkBase(base)] : [])]
  })
}

/** Checks a base map: its header, and all of its pages. */
function checkBase(file: string): Finding {
  const advice =
    'build it again with `fieldgate map build --base --force`, or remove it: routes do not need it'
  try {
    const base = openBaseFile(file)
    try {
      const [fault] = base.check()
      return fault === undefined
        ? ok(`${file}: ${megabytes(base.sizeBytes)}, intact`)
        : warning(`${file}: ${fault}`, advice)
    } finally {
      base.close()
    }
  } catch (thrown) {
    return warning(`${file}: ${messageOf(thrown)}`, advice)
  }
}

/** A prepared profile of a map takes about as much of the size of its file: 51 of 211 MB, 5 of 11 MB for a city. */
const PROFILE_SHARE = 1 / 4

function checkMap(file: string, { maxMapBytes: maxBytes, profileCacheBytes }: Config['routing']): Finding {
  const advice = 'build it again with `fieldgate map build`, or copy it from a backup; then send SIGHUP'
  try {
    const { size } = statSync(file)
    if (size > maxBytes)
      return error(
        `${file} has ${size} bytes, expected at most ${maxBytes} (routing.maxMapBytes)`,
        'raise routing.maxMapBytes if there is enough memory, or build a smaller map',
      )
    const fault = checkGraphFile(file)
    if (fault !== null) return error(`${file} ${fault}`, advice)
    const profileBytes = size * PROFILE_SHARE
    return profileBytes <= profileCacheBytes
      ? ok(`${file}: ${megabytes(size)}, intact`)
      : warning(
          `${file}: intact, but its routes are searched without preparation, many times slower: a profile of it takes about ${megabytes(profileBytes)}, routing.profileCacheBytes is ${profileCacheBytes}`,
          'raise routing.profileCacheBytes if there is enough memory, or build a smaller map',
        )
  } catch (thrown) {
    return error(`${file} cannot be read: ${messageOf(thrown)}`, advice)
  }
}

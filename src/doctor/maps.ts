import { existsSync, statSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { checkGraphFile } from '../files/graph-file-check.js'
import { mapFiles } from '../files/layout.js'
import { error, type Finding, megabytes, ok, type Patient } from './finding.js'

export function checkMaps({ layout, config, onProgress }: Patient): Finding[] {
  const files = [...(existsSync(layout.mapsDir) ? mapFiles(layout) : []), ...config.routing.maps]
  if (files.length === 0)
    return [ok('no map is there: routes are not answered until `fieldgate map build` made one')]
  return files.map((file) => {
    onProgress?.(file)
    return lookAt(file, config.routing.maxMapBytes)
  })
}

function lookAt(file: string, maxBytes: number): Finding {
  const again = 'build it again with `fieldgate map build`, or copy it from a backup; then send SIGHUP'
  try {
    const { size } = statSync(file)
    if (size > maxBytes)
      return error(
        `${file} has ${size} bytes, routing.maxMapBytes allows ${maxBytes}`,
        'raise routing.maxMapBytes when there is memory for it, or build a smaller map',
      )
    const fault = checkGraphFile(file)
    return fault === null ? ok(`${file}: ${megabytes(size)}, whole`) : error(`${file} ${fault}`, again)
  } catch (thrown) {
    return error(`${file} cannot be read: ${messageOf(thrown)}`, again)
  }
}

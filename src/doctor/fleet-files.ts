import { existsSync } from 'node:fs'
import path from 'node:path'
import type { StoredMembership } from '../storage/maintenance.js'
import { type CheckContext, type Finding, warning } from './finding.js'

/**
 * Checks the maps and modules of the profile: those that have not come, and those that were installed and are no longer
 * there. Whether what is there is intact is found with all maps and modules. Reads no file.
 */
export function checkFleetFiles(
  { waitingFiles, installedFiles }: Pick<StoredMembership, 'waitingFiles' | 'installedFiles'>,
  { layout, config }: Pick<CheckContext, 'layout' | 'config'>,
): Finding[] {
  const waiting = waitingFiles.map(({ item, reason }) =>
    warning(
      `the ${item} of the profile is not installed: ${reason ?? 'its file is not here'}`,
      'see `fieldgate fleet status`; a download goes on by itself, within sync.windows',
    ),
  )
  const places = {
    map: (name: string) => path.join(layout.mapsDir, `${name}.graph`),
    module: (name: string) => path.join(config.dataproc.modulesDir ?? layout.modulesDir, name),
  }
  const missing = installedFiles.flatMap(({ kind, name }) => {
    const place = places[kind](name)
    if (existsSync(place) || waitingFiles.some(({ item }) => item === `${kind} ${name}`)) return []
    const message = `the ${kind} ${name}, which the profile has installed, is missing: ${place}`
    return [warning(message, 'store a new version of the profile at the hub: it is installed again then')]
  })
  return [...waiting, ...missing]
}

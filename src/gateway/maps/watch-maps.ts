import { type FSWatcher, statSync, watch } from 'node:fs'
import path from 'node:path'
import type { Config } from '../../config/config.js'
import { baseFileOf, type DataLayout, mapFiles } from '../../files/layout.js'
import type { Log } from '../../log.js'
import type { MapLoading } from './maps.js'

export interface MapWatch {
  readonly config: Pick<Config, 'routing'>
  readonly layout: DataLayout
  readonly maps: Pick<MapLoading, 'reload'>
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Time without a change after which a file is taken for whole, ms: a copy writes all the time. */
const SETTLE_MS = 1000

/**
 * Loads maps as soon as their files appear, change or go. The system tells of changes, so that nothing is looked for
 * meanwhile. Where it cannot, SIGHUP remains.
 *
 * @returns a function that stops watching
 */
export function watchMaps({ config, layout, maps, log }: MapWatch): () => void {
  const filesNow = () =>
    [...mapFiles(layout), ...config.routing.maps].flatMap((file) => [file, baseFileOf(file)])
  const stamp = () => filesNow().map(stampOf).join()
  let loaded = stamp()
  let timer: NodeJS.Timeout | undefined
  const look = async () => {
    const found = stamp()
    if (found === loaded) return
    loaded = found
    log.info('map files have changed')
    await maps.reload()
  }
  const onChange = (name: string | null) => {
    if (name !== null && !isMap(name, config)) return
    clearTimeout(timer)
    timer = setTimeout(
      () =>
        look().catch((error: unknown) => log.warn({ err: error }, 'changed map files could not be loaded')),
      SETTLE_MS,
    ).unref()
  }
  const folders = new Set([layout.mapsDir, ...config.routing.maps.map((file) => path.dirname(file))])
  const watchers = [...folders].flatMap((folder) => watchFolder(folder, onChange, log))
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

function isMap(name: string, { routing }: MapWatch['config']): boolean {
  return /\.(?:graph|mbtiles)$/.test(name) || routing.maps.some((file) => path.basename(file) === name)
}

function watchFolder(
  folder: string,
  onChange: (name: string | null) => void,
  log: MapWatch['log'],
): FSWatcher[] {
  const warn = (error: unknown) =>
    log.warn({ err: error, folder }, 'the folder cannot be watched for maps; SIGHUP loads new ones')
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => onChange(name))
    watcher.on('error', warn)
    return [watcher]
  } catch (error) {
    warn(error)
    return []
  }
}

/** Changes with a file, also where it is replaced. */
function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? `${file} -` : `${file} ${found.ino} ${found.size} ${found.mtimeMs}`
}

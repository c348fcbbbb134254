import { statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BlobStore, createBlobStore, syncFolder } from '../files/blob-store.js'
import type { DiskSpace } from '../files/disk-space.js'
import type { DataLayout } from '../files/layout.js'
import { linkInPlace } from '../files/link-file.js'
import { createPartFiles } from '../files/part-files.js'
import { createFileFetcher, type FetcherDeps, type FileFetcher } from '../fleet/member/fetcher.js'
import type { InstallDeps, InstallPlace } from '../fleet/member/install-files.js'
import type { State } from '../storage/state.js'
import type { MapLoading } from './maps.js'

interface MemberFilesOptions
  extends Pick<FetcherDeps, 'connect' | 'closedReason' | 'onFetched' | 'throttle' | 'log'> {
  readonly layout: DataLayout
  readonly disk: DiskSpace
}

/** Opens the downloads of files that the profile of the hub names. */
export function openMemberFiles(options: MemberFilesOptions): FileFetcher {
  const { layout, disk, connect, closedReason, onFetched, throttle, log } = options
  return createFileFetcher({
    ...{ connect, closedReason, onFetched, throttle, log },
    parts: createPartFiles(layout.fleetPartsDir),
    held: openHeld(layout),
    requireSpace: (bytes) => disk.require(bytes),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    random: Math.random,
  })
}

/** Opens the places where files of profiles are installed. */
export function openInstallDeps({
  state,
  layout,
  maps,
}: {
  readonly state: Pick<State, 'installedFiles'>
  readonly layout: DataLayout
  readonly maps: MapLoading
}): InstallDeps {
  return { installed: state.installedFiles, held: openHeld(layout), places: { map: mapPlace(layout, maps) } }
}

function openHeld({ fleetHeldDir: dir, tempDir }: DataLayout): BlobStore {
  return createBlobStore({ dir, tempDir })
}

/** Maps of the data directory, which the search worker loads. */
function mapPlace({ mapsDir }: DataLayout, maps: MapLoading): InstallPlace {
  const fileOf = (name: string) => path.join(mapsDir, `${name}.graph`)
  return {
    async stampOf(name) {
      const found = statSync(fileOf(name), { throwIfNoEntry: false })
      return found === undefined ? undefined : `${found.ino}:${found.size}:${found.mtimeMs}`
    },
    install: (name, file) => linkInPlace(file, fileOf(name)),
    async remove(name) {
      await rm(fileOf(name), { force: true })
      await syncFolder(mapsDir)
    },
    use: () => maps.reload(),
  }
}

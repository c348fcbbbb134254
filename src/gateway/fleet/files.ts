import { createReadStream, lstatSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSingleExecutable } from '../../assets.js'
import { installModule, moduleStamp, removeModule } from '../../dataproc/install.js'
import { makeDataprocLayout } from '../../dataproc/layout.js'
import {
  type BlobFacts,
  type BlobStore,
  createBlobStore,
  digestOf,
  syncFolder,
} from '../../files/blob-store.js'
import type { DiskSpace } from '../../files/disk-space.js'
import type { DataLayout } from '../../files/layout.js'
import { linkInPlace } from '../../files/link-file.js'
import { createPartFiles } from '../../files/part-files.js'
import { createFileFetcher, type FetcherDeps, type FileFetcher } from '../../fleet/member/fetcher.js'
import type { InstallDeps, InstallPlace } from '../../fleet/member/install-files.js'
import { createReleaseStage, type ReleaseStage } from '../../fleet/member/stage-release.js'
import type { State } from '../../storage/state.js'
import { targetHere } from '../../update/accept.js'
import { readRolledBack } from '../../update/rolled-back.js'
import type { MapLoading } from '../maps/maps.js'
import type { ServicesOptions } from '../options.js'

interface MemberFilesOptions
  extends Pick<FetcherDeps, 'connect' | 'closedReason' | 'onFetched' | 'throttle' | 'log'> {
  readonly layout: DataLayout
  readonly disk: DiskSpace
}

/** Opens the downloads of files that the profile of the hub names. */
export function openMemberFiles(options: MemberFilesOptions): FileFetcher {
  const { layout, disk, connect, closedReason, onFetched, throttle, log } = options
  const [parts, held] = [createPartFiles(layout.fleetPartsDir), openHeld(layout)]
  return createFileFetcher({
    ...{ connect, closedReason, onFetched, throttle, log, parts, held },
    adopt: createAdopter(layout, held),
    requireSpace: (bytes) => disk.require(bytes),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    random: Math.random,
  })
}

/**
 * Makes the function that holds installed maps: held files are in no backup, and maps are. What was installed from an archive
 * cannot be held again. Cost: one read of a map, once for each state of its file.
 */
function createAdopter({ mapsDir, tempDir }: DataLayout, held: BlobStore): FetcherDeps['adopt'] {
  /** file → its stamp and digest, as last read */
  const known = new Map<string, BlobFacts & { stamp: string }>()
  return async ({ kind, name, sha256 }) => {
    const file = mapFile(mapsDir, name)
    const stamp = kind === 'map' ? stampOfFile(file) : undefined
    // a link of an operator may come to point to another file
    if (stamp === undefined || !lstatSync(file).isFile()) return false
    const last = known.get(file)
    const facts = last?.stamp === stamp ? last : { ...(await digestOf(createReadStream(file))), stamp }
    known.set(file, facts)
    if (facts.sha256 !== sha256) return false
    const staged = path.join(tempDir, `${sha256}.graph`)
    await linkInPlace(file, staged)
    await (await held.stageFile(staged, facts)).keep()
    return true
  }
}

const mapFile = (mapsDir: string, name: string) => path.join(mapsDir, `${name}.graph`)

/** Returns a text that changes with a file; undefined when there is none. */
function stampOfFile(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.ino}:${found.size}:${found.mtimeMs}`
}

interface InstallOptions extends Pick<ServicesOptions, 'config'> {
  readonly state: Pick<State, 'installedFiles'>
  readonly layout: DataLayout
  readonly disk: DiskSpace
  readonly maps: MapLoading
}

/** Opens the places where files of profiles are installed. */
export function openInstallDeps(options: InstallOptions): InstallDeps {
  const { state, layout, maps } = options
  const places = { map: mapPlace(layout, maps), module: modulePlace(options) }
  return { installed: state.installedFiles, held: openHeld(layout), places }
}

interface ReleaseOptions extends Pick<ServicesOptions, 'config' | 'version' | 'log'> {
  readonly layout: DataLayout
}

/** Opens the place where releases of profiles wait to be installed. @param progressOf of the downloads */
export function openReleaseStage(
  { config: { fleet, update }, layout, version, log }: ReleaseOptions,
  progressOf: (sha256: string) => string,
): ReleaseStage {
  return createReleaseStage({
    refusal: fleet.releases === 'off' ? 'this gateway takes no releases from its hub (fleet.releases)' : null,
    ...{ publicKey: update.publicKey, target: targetHere(), running: version },
    ...{ dir: layout.fleetReleaseDir, held: openHeld(layout), progressOf, log },
    rolledBack(sha256) {
      // another program is not installed by `fieldgate update`
      const known = isSingleExecutable() ? readRolledBack(process.execPath) : []
      const found = known.find((one) => one.sha256 === sha256)
      return found && `version ${found.version} was rolled back at ${found.at}: ${found.reason}`
    },
  })
}

function openHeld({ fleetHeldDir: dir, tempDir }: DataLayout): BlobStore {
  return createBlobStore({ dir, tempDir })
}

/** Maps of the data directory, which the search worker loads. */
function mapPlace({ mapsDir }: DataLayout, maps: MapLoading): InstallPlace {
  const fileOf = (name: string) => mapFile(mapsDir, name)
  return {
    refusal: null,
    stampOf: async (name) => stampOfFile(fileOf(name)),
    install: (name, file) => linkInPlace(file, fileOf(name)),
    async remove(name) {
      await rm(fileOf(name), { force: true })
      await syncFolder(mapsDir)
    },
    use: () => maps.reload(),
  }
}

/** Modules that run on this device; a call finds a new one at once. */
function modulePlace({ config: { dataproc, fleet }, layout, disk }: InstallOptions): InstallPlace {
  const places = makeDataprocLayout(layout.dataprocDir, dataproc.modulesDir ?? layout.modulesDir)
  const deps = { layout: places, requireSpace: (bytes: number) => disk.require(bytes) }
  return {
    refusal: !fleet.modules
      ? 'this gateway takes no modules from its hub (fleet.modules)'
      : dataproc.backend === 'embedded'
        ? null
        : 'modules of this gateway run on another server (dataproc.backend)',
    stampOf: async (name) => moduleStamp(places, name),
    install: (name, archive) => installModule(deps, name, archive),
    remove: (name) => removeModule(places, name),
    use: async () => undefined,
  }
}

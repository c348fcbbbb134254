import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { parseOffset } from '../../datetime.js'
import type { BlobStore } from '../../files/blob-store.js'
import { createDiskSpace } from '../../files/disk-space.js'
import { layoutOf } from '../../files/layout.js'
import { openModelBlobs } from '../../gateway/exchange/models.js'
import { openKeyring } from '../../storage/keyring.js'
import { createSweepLease } from '../../storage/sqlite/connection/lease.js'
import { hasEncryptedValues } from '../../storage/sqlite/maintenance/encrypted-values.js'
import { openState } from '../../storage/sqlite/state.js'
import type { State } from '../../storage/state.js'
import type { SweepLease } from '../../storage/work/sweep-lease.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { type RunSettings, readSettings } from '../settings.js'

/** Open data of the verbs of models and of the outbox. */
export interface ModelData {
  state: State
  blobs: BlobStore
  settings: RunSettings
  timeZoneMin: number
  lease: SweepLease
}

/**
 * Opens the rows and bytes of a data directory for one verb, also beside a running gateway.
 *
 * @throws Error if the directory holds no data: a mistyped `--data-dir` must not become a new gateway
 */
export async function withModelData<O>(
  command: Command,
  deps: CliDeps,
  act: (data: ModelData, options: O & GlobalOptions) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<O & GlobalOptions>()
  const settings = readSettings(options, deps)
  const layout = layoutOf(settings.dataDir, settings.config.encryption.keyFile)
  if (!existsSync(layout.stateDb)) {
    throw new Error(
      `${settings.dataDir} holds no gateway's data: run \`fieldgate init\` with the same --data-dir first`,
    )
  }
  deps.makeFilesPrivate()
  const state = await openState(layout.stateDb, {
    keyring: openKeyring(layout.keyFile, { hasEncrypted: () => hasEncryptedValues(layout.root) }),
  })
  try {
    const disk = createDiskSpace(layout.root, settings.config.limits.diskReserveBytes)
    const timeZoneMin = parseOffset(settings.config.service.timeZone) ?? 0
    const lease = createSweepLease(layout.leaseDb)
    await act({ state, settings, timeZoneMin, lease, blobs: openModelBlobs(layout, disk) }, options)
  } finally {
    await state.close()
  }
}

/** Formats a size: `1.5 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes / 1000
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** Formats a duration: `3 d 4 h`, `12 min`, `7 s`. */
export function durationText(seconds: number): string {
  const s = Math.round(seconds)
  if (s < 120) return `${s} s`
  if (s < 7200) return `${Math.round(s / 60)} min`
  if (s < 172_800) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`
  return `${Math.floor(s / 86_400)} d ${Math.round((s % 86_400) / 3600)} h`
}

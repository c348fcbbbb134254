import type { BlobStore } from '../../files/blob-store.js'
import type {
  FileKind,
  InstalledFile,
  InstalledFiles,
  ProfileItem,
} from '../../storage/exchange/membership.js'
import { type InstalledKind, itemNameOf } from '../profile/files.js'

/** Place of the gateway where files of one kind are installed. */
export interface InstallPlace {
  /** Returns a stamp of what has a name, which changes with it; undefined when nothing has it. */
  stampOf(name: string): Promise<string | undefined>
  /** Puts a file in the place of what has the name; at every moment the old one or the new one is there. */
  install(name: string, file: string): Promise<void>
  remove(name: string): Promise<void>
  /** why this gateway installs nothing there; null when it does */
  readonly refusal: string | null
  /** Uses what was installed and removed. */
  use(): Promise<void>
}

export interface InstallDeps {
  readonly installed: InstalledFiles
  /** complete files, by digest */
  readonly held: Pick<BlobStore, 'localFile'>
  readonly places: Readonly<Record<FileKind, InstallPlace>>
}

/**
 * Installs the files that a profile wants, and removes those of a former one. What an operator installed stays.
 * A repeat changes nothing, also after the process died on the way.
 *
 * @returns one item for each file
 * @throws Error for a file that cannot be installed: the former profile is put back
 */
export async function installFiles(
  { installed, held, places }: InstallDeps,
  wanted: readonly InstalledKind[],
): Promise<ProfileItem[]> {
  const mine = await installed.list()
  const changed = new Set<FileKind>()
  for (const { kind, name } of mine) {
    if (wanted.some((file) => file.kind === kind && file.name === name)) continue
    await places[kind].remove(name)
    await installed.forget(kind, name)
    changed.add(kind)
  }
  const items: ProfileItem[] = []
  for (const file of wanted) {
    const { kind, name, sha256 } = file
    const item = itemNameOf(file)
    const before = mine.find((one) => one.kind === kind && one.name === name)
    const { refusal } = places[kind]
    if (refusal !== null) {
      items.push({ item, state: 'refused', reason: refusal })
      continue
    }
    const stamp = await places[kind].stampOf(name)
    if (before === undefined && stamp !== undefined) {
      items.push({ item, state: 'refused', reason: `an operator installed the ${kind} ${name}` })
      continue
    }
    const source = isInstalled(before, sha256, stamp) ? null : await held.localFile(sha256)
    if (source === undefined) {
      items.push({ item, state: 'waiting', reason: 'the file is not here' })
      continue
    }
    if (source !== null) {
      // noted first: what is there after a crash belongs to the profile
      await installed.note({ kind, name, sha256, stamp: '' })
      changed.add(kind)
      await places[kind].install(name, source)
      await installed.note({ kind, name, sha256, stamp: (await places[kind].stampOf(name)) ?? '' })
    }
    items.push({ item, state: 'applied', reason: null })
  }
  for (const kind of changed) await places[kind].use()
  return items
}

function isInstalled(before: InstalledFile | undefined, sha256: string, stamp: string | undefined): boolean {
  return before !== undefined && before.sha256 === sha256 && stamp !== undefined && before.stamp === stamp
}

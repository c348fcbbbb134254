import type { FileKind } from '../../storage/exchange/membership.js'
import type { Profile, ProfileRelease } from './schema.js'

/** A file that a profile wants on its gateways. */
export interface WantedFile {
  /** `release`: staged, and installed by `fieldgate update --staged` alone */
  readonly kind: FileKind | 'release'
  /** such as the name of a map, or the target of a release */
  readonly name: string
  /** hex */
  readonly sha256: string
  /** place in the profile: `maps.town` */
  readonly path: string
}

/** A file that is installed while a profile is applied. */
export type InstalledKind = WantedFile & { readonly kind: FileKind }

/** Returns the files that a profile names. */
export function filesOf(profile: Pick<Profile, 'maps' | 'modules' | 'releases'>): WantedFile[] {
  const releases = releasesOf(profile).map(({ target, digest: sha256 }) => ({
    ...{ kind: 'release' as const, name: target, sha256, path: `releases.${target}` },
  }))
  return [...installedFilesOf(profile), ...releases]
}

/** Returns the releases of a profile with their targets. */
export function releasesOf({
  releases = {},
}: Pick<Profile, 'releases'>): (ProfileRelease & { target: string })[] {
  return Object.entries(releases).flatMap(([target, release]) =>
    release === undefined ? [] : [{ target, ...release }],
  )
}

/** Returns the files that are here before a profile is applied: maps and modules. */
export function installedFilesOf({
  maps = {},
  modules = {},
}: Pick<Profile, 'maps' | 'modules'>): InstalledKind[] {
  const filesIn = (kind: FileKind, list: string, named: Record<string, string>) =>
    Object.entries(named).map(([name, sha256]) => ({ kind, name, sha256, path: `${list}.${name}` }))
  return [...filesIn('map', 'maps', maps), ...filesIn('module', 'modules', modules)]
}

/** Returns the name under which the progress with a file is reported: `map town`. */
export function itemNameOf({ kind, name }: Pick<WantedFile, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

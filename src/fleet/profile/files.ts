import type { FileKind } from '../../storage/exchange/membership.js'
import type { Profile } from './schema.js'

/** A file that a profile wants on its gateways. */
export interface WantedFile {
  readonly kind: FileKind
  /** such as the name of a map */
  readonly name: string
  /** hex */
  readonly sha256: string
  /** place in the profile: `maps.town` */
  readonly path: string
}

/** Returns the files that a profile names. */
export function filesOf({ maps = {}, modules = {} }: Pick<Profile, 'maps' | 'modules'>): WantedFile[] {
  const filesIn = (kind: FileKind, list: string, named: Record<string, string>) =>
    Object.entries(named).map(([name, sha256]) => ({ kind, name, sha256, path: `${list}.${name}` }))
  return [...filesIn('map', 'maps', maps), ...filesIn('module', 'modules', modules)]
}

/** Returns the name under which the progress with a file is reported: `map town`. */
export function itemNameOf({ kind, name }: Pick<WantedFile, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

import type { Access } from './access.js'

/** What a traveller is told of a road that only those with business there may use. */
export function accessNote(access: Access): string[] {
  return access === 'restricted' ? ['private or destination only'] : []
}

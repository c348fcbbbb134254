import type { Profile } from './schema.js'

/** Returns the scopes that a gateway needs at the hub for a profile. */
export function scopesOf(profile: Profile): string[] {
  const { up, down, relay, model_stores } = profile
  return [
    'fleet:member',
    ...(up.length > 0 ? ['sync:write'] : []),
    ...(relay ? ['sync:relay'] : []),
    ...(down.length > 0 ? ['sync:read'] : []),
    ...(model_stores.length > 0 ? ['model:write'] : []),
  ]
}

/** Returns the tables that a gateway may send and read at the hub with profiles, sorted. */
export function tablesOf(...profiles: readonly Pick<Profile, 'up' | 'down'>[]): string[] {
  const tables = profiles.flatMap(({ up, down }) => [...up, ...down].map(({ table }) => table))
  return [...new Set(tables)].sort()
}

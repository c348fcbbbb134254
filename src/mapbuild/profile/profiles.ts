import { bicycleProfile } from './bicycle.js'
import { carProfile } from './car.js'
import { footProfile } from './foot.js'
import type { Profile, ProfileName } from './profile.js'

/** Names of all profiles; the first is the default. */
export const PROFILE_NAMES = ['car', 'foot', 'bicycle'] as const

/** Returns the profile with a name. */
export function findProfile(name: ProfileName): Profile {
  if (name === 'foot') return footProfile
  return name === 'bicycle' ? bicycleProfile : carProfile
}

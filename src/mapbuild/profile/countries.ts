import { lookUp } from './tag-values.js'

/** Legal speed limits for cars on roads without a sign, km/h. */
export interface CountryLimits {
  urban: number
  rural: number
  /** expressways and dual carriageways */
  trunk: number
  motorway: number
  livingStreet: number
}

const KMH_PER_MPH = 1.609344
/** Speed where the law sets no limit; the value of OSRM. */
export const UNLIMITED_KMH = 140
/** Walking pace where a sign asks for it, as German courts interpret it. */
export const WALK_KMH = 7

const limits = (urban: number, rural: number, trunk: number, motorway: number, livingStreet = 20) => ({
  urban,
  rural,
  trunk,
  motorway,
  livingStreet,
})
const inMiles = (urban: number, rural: number, trunk: number, motorway: number, livingStreet: number) =>
  limits(
    urban * KMH_PER_MPH,
    rural * KMH_PER_MPH,
    trunk * KMH_PER_MPH,
    motorway * KMH_PER_MPH,
    livingStreet * KMH_PER_MPH,
  )

/** Limits where the country is unknown or not listed: the usual values, as in OSRM's table. */
export const USUAL_LIMITS: CountryLimits = limits(50, 90, 110, 130, 10)

/**
 * ISO 3166-1 alpha-2 → limits. Where regions differ: the value that applies in most of the country.
 *
 * @see https://wiki.openstreetmap.org/wiki/Default_speed_limits
 */
const LIMITS: Record<string, CountryLimits> = {
  AT: limits(50, 100, 100, 130, WALK_KMH),
  AU: limits(50, 100, 100, 110, 10),
  BE: limits(50, 70, 120, 120),
  BG: limits(50, 90, 120, 140),
  BR: limits(60, 100, 110, 110),
  BY: limits(60, 90, 90, 110),
  CA: limits(50, 80, 100, 100, 30),
  CH: limits(50, 80, 100, 120),
  CN: limits(50, 70, 80, 120),
  CZ: limits(50, 90, 110, 130),
  DE: limits(50, 100, 100, UNLIMITED_KMH, WALK_KMH),
  DK: limits(50, 80, 80, 130, 15),
  EE: limits(50, 90, 90, 110),
  ES: limits(50, 90, 90, 120),
  FI: limits(50, 80, 100, 120),
  FR: limits(50, 80, 110, 130),
  GB: inMiles(30, 60, 70, 70, 20),
  GR: limits(50, 90, 110, 130),
  HR: limits(50, 90, 110, 130, 10),
  HU: limits(50, 90, 110, 130),
  IE: limits(50, 80, 100, 120),
  IN: limits(50, 70, 100, 120),
  IS: limits(50, 90, 90, 90, 15),
  IT: limits(50, 90, 110, 130),
  JP: limits(60, 60, 60, 100, 30),
  KR: limits(50, 80, 90, 100, 20),
  LT: limits(50, 90, 120, 130),
  LU: limits(50, 90, 90, 130),
  LV: limits(50, 90, 90, 110),
  MX: limits(50, 80, 110, 110),
  NL: limits(50, 80, 100, 100, 15),
  NO: limits(50, 80, 80, 110, WALK_KMH),
  NZ: limits(50, 100, 100, 100, 10),
  PL: limits(50, 90, 120, 140),
  PT: limits(50, 90, 100, 120),
  RO: limits(50, 90, 100, 130),
  RS: limits(50, 80, 100, 130, 10),
  RU: limits(60, 90, 110, 110),
  SE: limits(50, 70, 90, 110, WALK_KMH),
  SI: limits(50, 90, 110, 130, 10),
  SK: limits(50, 90, 130, 130),
  TR: limits(50, 90, 110, 120),
  TW: limits(50, 60, 90, 110),
  UA: limits(50, 90, 110, 130),
  US: inMiles(25, 55, 65, 65, 15),
  ZA: limits(60, 100, 120, 120),
}

/** Returns the limits of a country (`UK` is read as `GB`); undefined when it is not listed. */
export function limitsOf(country: string): CountryLimits | undefined {
  const code = country.toUpperCase()
  return lookUp(LIMITS, code === 'UK' ? 'GB' : code)
}

/** Returns the country codes that `--country` accepts. */
export function countryCodes(): string[] {
  return Object.keys(LIMITS)
}

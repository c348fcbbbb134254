import { setOf } from './tag-values.js'

/**
 * Countries and territories where traffic drives on the left, ISO 3166-1 alpha-2.
 *
 * @see https://wiki.openstreetmap.org/wiki/Key:driving_side
 */
const LEFT = setOf(`
  AG AI AU BB BD BM BN BS BT BW CC CK CX CY DM FJ FK GB GD GG GY HK ID IE IM IN JE JM JP KE KI KN KY LC
  LK LS MO MS MT MU MV MW MY MZ NA NF NP NR NU NZ PG PK PN SB SC SG SH SR SZ TC TH TK TL TO TT TV TZ UG
  VC VG VI WS ZA ZM ZW`)

/** Returns true where traffic drives on the left. @param country ISO 3166-1 alpha-2, null = not known: right */
export function drivesOnLeft(country: string | null): boolean {
  return country !== null && LEFT.has(country.toUpperCase() === 'UK' ? 'GB' : country.toUpperCase())
}

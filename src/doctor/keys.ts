import type { DataLayout } from '../files/layout.js'
import { createKeyring, KEY_FINGERPRINT, readKeyFile } from '../storage/keyring.js'
import type { Maintenance } from '../storage/maintenance.js'
import { createClock } from '../storage/work/clock.js'
import { type CheckContext, error, type Finding, isoTime, ok, warning } from './finding.js'

/** Time before the expiry of a key from which it is a warning: two weeks. */
const SOON_US = 14 * 24 * 3_600_000_000

/** Age from which a secret without an end is a warning: a year. */
const OLD_US = 365 * 24 * 3_600_000_000

/**
 * Checks that an admin key is active, and that no active key expires soon. As in the gateway, no key counts
 * as expired while the clock is not trusted.
 */
export async function checkKeys({ layout, nowUs, maintenance }: CheckContext): Promise<Finding[]> {
  const { facts } = maintenance
  const clock = createClock(await facts.lastSeenUs(layout.root), () => nowUs / 1000)
  const keys = await facts.keys(layout.root)
  const active = keys.filter((key) => !clock.hasPassed(key.expiresAtUs))
  const admins = active.filter((key) => key.scopes.includes('admin'))
  const findings: Finding[] = await checkKeyFile(layout, maintenance)
  if (admins.length === 0)
    findings.push(
      error(
        'no active key has the scope admin',
        'create one: `fieldgate key create --name admin --scope admin`',
      ),
    )
  for (const { keyId, name, expiresAtUs, secretAtUs } of active) {
    if (expiresAtUs === null && clock.isTrusted() && nowUs - (secretAtUs ?? nowUs) > OLD_US)
      findings.push(
        warning(
          `the key ${name} (${keyId}) has no end, and its secret is from ${isoTime(secretAtUs ?? nowUs)}`,
          `give it a new secret: \`fieldgate key rotate ${keyId}\`, or create keys with an end: --expires-in 365d`,
        ),
      )
    if (expiresAtUs === null || !clock.isTrusted() || expiresAtUs - nowUs > SOON_US) continue
    findings.push(
      warning(
        `the key ${name} (${keyId}) expires at ${isoTime(expiresAtUs)}`,
        'create another with `fieldgate key create`, and give it to the users of this one',
      ),
    )
  }
  return findings.length > 0
    ? findings
    : [ok(`${active.length} active keys, ${admins.length} of them with the scope admin`)]
}

/** Checks that the key of encrypted values is there, and is the one that encrypted them. */
async function checkKeyFile({ root, keyFile }: DataLayout, { facts }: Maintenance): Promise<Finding[]> {
  if (!(await facts.hasEncrypted(root))) return []
  const key = readKeyFile(keyFile)
  const advice =
    'put the key back from where it is kept, or name its place in encryption.keyFile; the gateway does not start without it'
  if (key === undefined) return [error(`${keyFile} is missing, but values are encrypted with it`, advice)]
  const noted = await facts.noted(root, KEY_FINGERPRINT)
  if (noted === undefined || noted === createKeyring(key).fingerprint) return []
  return [error(`${keyFile} holds another key than the one that encrypted values`, advice)]
}

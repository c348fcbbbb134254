import { randomUUID } from 'node:crypto'
import path from 'node:path'
import Database from 'better-sqlite3'
import type { TestGateway } from './start-gateway.js'

const US = 1_000_000

/**
 * Puts gateways into the database of a hub that has the profile `field`, as if they had joined and reported: `gw-00000` and
 * so on around 139.7° E, 35.7° N. Of each hundred one is revoked, two are silent, one is not ready, and five are behind.
 */
export function addGateways(hub: TestGateway, count: number): void {
  const db = new Database(path.join(hub.dataDir, 'state.db'))
  try {
    const { digest } = db.prepare(`SELECT digest FROM fleet_profile ORDER BY version DESC`).get() as {
      digest: string
    }
    const key = db.prepare(
      `INSERT INTO api_key (key_id, name, scopes, created_at_us, revoked_at_us) VALUES (?, ?, '["fleet:member"]', ?, ?)`,
    )
    const member = db.prepare(`INSERT INTO fleet_member
      (node_id, name, profile, key_id, signing_key, exchange_key, state, joined_at_us, ended_at_us, applied_digest,
       tried_digest, outcome, last_seen_us, last_report)
      VALUES (?, ?, 'field', ?, 's', 'e', ?, ?, ?, ?, ?, 'applied', ?, ?)`)
    const nowUs = Date.now() * 1000
    db.transaction(() => {
      for (let n = 0; n < count; n++) {
        const [nodeId, keyId, place] = [randomUUID(), randomUUID(), n % 100]
        const name = `gw-${String(n).padStart(5, '0')}`
        const isRevoked = place === 99
        const endedAtUs = isRevoked ? nowUs : null
        const seenUs = place === 97 || place === 98 ? nowUs - 7200 * US : nowUs - (n % 170) * US
        key.run(keyId, name, nowUs, endedAtUs)
        member.run(
          ...[nodeId, name, keyId, isRevoked ? 'revoked' : 'member', nowUs - 86_400 * US, endedAtUs],
          ...[digest, digest, seenUs, JSON.stringify(reportOf(n, place, seenUs))],
        )
      }
    })()
  } finally {
    db.close()
  }
}

function reportOf(n: number, place: number, clockUs: number): object {
  const isBehind = place >= 90 && place < 95
  const backlog = { rows: isBehind ? 12_345 : n % 40, models: 0, bytes: isBehind ? 250_000 : 800 }
  return {
    ...{ version: '0.2.0', uptime_s: 86_400, disk_free_bytes: 8e9, clock_us: clockUs, clock_trusted: true },
    ...{ ready: place !== 96, parts: place === 96 ? ['mqtt: the broker is not reached'] : [] },
    ...{ backlog: { ...backlog, oldest_s: isBehind ? 5400 : 1 }, doctor: null },
    position: [139.7 + (place - 50) / 60, 35.7 + (Math.floor(n / 100) - 25) / 60],
    profile: { outcome: 'applied', reason: null, items: [] },
  }
}

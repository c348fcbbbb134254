import { CONTACT, readContact } from '../../exchange/contact.js'
import { isRelease, type Membership, type ProfileProgress } from '../../exchange/membership.js'
import type { StoredFleet, StoredMembership } from '../../maintenance.js'
import type { Db } from '../connection/database.js'
import { readFleetSummary } from '../fleet/summary.js'
import { hasTable } from './database-facts.js'

interface MembershipRow {
  hubUrl: string
  state: Membership['state']
  reason: string | null
  joinedAtUs: number | null
  progress: string
  contact: string | null
}

/** Items of files that are installed. */
const FILE_ITEM = /^(?:map|module) /

type InstalledName = StoredMembership['installedFiles'][number]

const TOKENS = `SELECT
  count(*) FILTER (WHERE uses >= max_uses) AS usedUp,
  count(*) FILTER (WHERE uses < max_uses AND k.expires_at_us <= @nowUs) AS expired,
  count(*) FILTER (WHERE uses < max_uses AND (k.expires_at_us IS NULL OR k.expires_at_us > @nowUs)) AS active
  FROM fleet_token JOIN api_key AS k USING (key_id) WHERE k.revoked_at_us IS NULL`

/** Reads membership and hub from `state.db`; neither from a backup of a schema before them. */
export function readFleet(db: Db, silentBeforeUs: number, nowUs: number): StoredFleet {
  const none = { active: 0, usedUp: 0, expired: 0 }
  if (!hasTable(db, 'fleet_membership'))
    return {
      membership: null,
      gateways: { member: 0, left: 0, revoked: 0, silent: 0, trouble: 0 },
      tokens: none,
    }
  return {
    membership: readMembership(db),
    gateways: readFleetSummary(db, silentBeforeUs),
    // no test: counts are always one row
    tokens: db.prepare<[object], StoredFleet['tokens']>(TOKENS).get({ nowUs }) ?? none,
  }
}

function readMembership(db: Db): StoredMembership | null {
  const row = db
    .prepare<[string], MembershipRow>(
      `SELECT hub_url AS hubUrl, state, reason, joined_at_us AS joinedAtUs, progress,
       (SELECT value FROM meta WHERE name = ?) AS contact FROM fleet_membership`,
    )
    .get(CONTACT)
  if (row === undefined || row.state === 'left') return null
  const { applied, putBack, items, fetching } = JSON.parse(row.progress) as ProfileProgress
  const contact = readContact(row.contact ?? undefined, row)
  return {
    // 0 while it joins
    ...{ hubUrl: row.hubUrl, state: row.state, reason: row.reason, joinedAtUs: row.joinedAtUs ?? 0 },
    ...{ contactUs: contact?.atUs ?? null, wanted: contact?.version ?? null },
    ...{ applied: applied?.version ?? null, putBack },
    release: items.find(({ item, state }) => isRelease(item) && state !== 'applied') ?? null,
    refusedItems: items.filter(({ state }) => state === 'refused').map(({ item }) => item),
    waitingFiles: [...items.filter(({ state }) => state === 'waiting'), ...(fetching?.items ?? [])]
      .filter(({ item }) => FILE_ITEM.test(item))
      .map(({ item, reason }) => ({ item, reason })),
    installedFiles: hasTable(db, 'fleet_installed')
      ? db.prepare<[], InstalledName>('SELECT kind, name FROM fleet_installed ORDER BY kind, name').all()
      : [], // no test: a schema that has members has it
  }
}

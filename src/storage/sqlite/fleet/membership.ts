import { FEED_SECRET_CONTEXT } from '../../exchange/feeds.js'
import {
  HUB_UPSTREAM,
  MEMBERSHIP_SECRET_CONTEXT,
  type Membership,
  type MembershipStore,
  NO_PROGRESS,
} from '../../exchange/membership.js'
import type { Keyring } from '../../keyring.js'
import type { TrustedClock } from '../../work/clock.js'
import { oneValue, statement, writtenRow } from '../connection/database.js'
import { type StateDb, writeFreeing, writeState } from '../connection/state-db.js'

interface Row {
  hub_url: string
  name: string
  state: Membership['state']
  api_key: string | null
  secret: Uint8Array | null
  hub: string | null
  reason: string | null
  joined_at_us: number | null
  progress: string
}

/** Creates the membership of `state.db`. */
export function createMembershipStore(
  state: StateDb,
  clock: TrustedClock,
  keyring: Keyring,
): MembershipStore {
  const { db } = state
  const read = () => {
    const row = statement<Row>(db, 'SELECT * FROM fleet_membership').get()
    return row === undefined ? undefined : toMembership(row, keyring)
  }
  return {
    find: async () => read(),
    begin: ({ hubUrl, name, secret }) =>
      writeState(state, () => {
        const old = read()
        const isMember = old?.state === 'member' || old?.state === 'refused'
        if (isMember && old.hubUrl !== hubUrl) return undefined
        if (!isMember && hasOwnUpstream(state)) return undefined
        // a former attempt may have reached the hub: its secret is the one that the hub may know
        const isSame = old !== undefined && old.hubUrl === hubUrl && old.secret !== null
        const kept = isSame && old.secret !== null ? old.secret : secret
        const sealed = Buffer.from(keyring.encrypt(kept, MEMBERSHIP_SECRET_CONTEXT))
        const to = isMember ? old.state : 'joining'
        statement(
          db,
          `INSERT INTO fleet_membership (one, hub_url, name, state, secret, progress) VALUES (1, ?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET hub_url = excluded.hub_url, name = excluded.name, state = excluded.state,
             secret = excluded.secret, reason = NULL`,
        ).run(hubUrl, name, to, sealed, JSON.stringify(NO_PROGRESS))
        return writtenRow(read())
      }),
    complete: ({ apiKey, hub }) =>
      writeState(state, () => {
        const { hubUrl, secret } = writtenRow(read())
        if (secret === null) throw new Error('joining was completed before it began')
        statement(
          db,
          `UPDATE fleet_membership SET state = 'member', api_key = ?, hub = ?, reason = NULL, joined_at_us = ?`,
        ).run(apiKey, JSON.stringify(hub), clock.nowUs())
        statement(
          db,
          `INSERT INTO sync_upstream (name, endpoint, apikey, secret, created_at_us) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET endpoint = excluded.endpoint, apikey = excluded.apikey,
             secret = excluded.secret`,
        ).run(
          ...[HUB_UPSTREAM, hubUrl, apiKey],
          ...[Buffer.from(keyring.encrypt(secret, FEED_SECRET_CONTEXT)), clock.nowUs()],
        )
        return writtenRow(read())
      }),
    setState: (to, reason) =>
      writeState(state, () => {
        const sql = `UPDATE fleet_membership SET state = ?, reason = ? WHERE state IN ('member', 'refused')`
        statement(db, sql).run(to, reason)
      }),
    noteFailure: (reason) =>
      writeState(state, () => {
        statement(db, 'UPDATE fleet_membership SET reason = ?').run(reason)
      }),
    noteProgress: (progress) =>
      writeState(state, () => {
        const sql = `UPDATE fleet_membership SET progress = ? WHERE state <> 'left'`
        statement(db, sql).run(JSON.stringify(progress))
      }),
    end: () =>
      writeFreeing(state, () => {
        statement(db, 'DELETE FROM feed WHERE upstream = ?').run(HUB_UPSTREAM)
        statement(db, 'DELETE FROM sync_upstream WHERE name = ?').run(HUB_UPSTREAM)
        statement(db, 'DELETE FROM fleet_installed').run()
        statement(
          db,
          `UPDATE fleet_membership SET state = 'left', api_key = NULL, secret = NULL, reason = NULL,
             progress = ?`,
        ).run(JSON.stringify(NO_PROGRESS))
      }),
  }
}

/** True when an operator has named an upstream as the hub is named. */
function hasOwnUpstream({ db }: StateDb): boolean {
  return oneValue<number>(db, 'SELECT count(*) FROM sync_upstream WHERE name = ?', HUB_UPSTREAM) > 0
}

function toMembership(row: Row, keyring: Keyring): Membership {
  return {
    hubUrl: row.hub_url,
    name: row.name,
    state: row.state,
    apiKey: row.api_key,
    secret: row.secret === null ? null : keyring.read(row.secret, MEMBERSHIP_SECRET_CONTEXT),
    hub: row.hub === null ? null : JSON.parse(row.hub),
    reason: row.reason,
    joinedAtUs: row.joined_at_us,
    progress: JSON.parse(row.progress),
  }
}

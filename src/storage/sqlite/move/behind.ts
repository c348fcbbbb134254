import { type Db, statement } from '../connection/database.js'

/** Data that a hub on engines has no place for: a query of its number, and the text behind the number. */
const STATE: readonly (readonly [sql: string, text: string])[] = [
  [
    `SELECT count(*) FROM fleet_membership WHERE state <> 'left'`,
    'membership of another hub: run `fieldgate leave` first if that hub is to know',
  ],
  [
    'SELECT count(*) FROM sync_upstream',
    'upstream(s) of feeds: they and their feeds move, but a hub sends no feed',
  ],
  [
    `SELECT count(*) FROM transfer WHERE state IN ('queued', 'sending')`,
    'transfer(s) of models that wait: they move, but a hub sends no model further up',
  ],
  ['SELECT count(*) FROM upload WHERE model_id IS NULL', 'unfinished upload(s): their senders begin again'],
  ['SELECT count(*) FROM module_trigger', 'trigger(s) of modules'],
  ['SELECT count(*) FROM ingest_broker', 'broker(s) of messages'],
  ['SELECT count(*) FROM ingest_reject', 'message(s) of brokers that could not be stored'],
  ['SELECT count(*) FROM ingest_outbox', 'message(s) that wait for their broker'],
  ['SELECT count(*) FROM ingest_bus', 'Modbus bus(es)'],
  ['SELECT count(*) FROM fleet_installed', 'map(s) and module(s) that a profile installed'],
]

/** Lists what a hub cannot take, with its number. */
export function listBehind(state: Db): string[] {
  return STATE.flatMap(([sql, text]) => {
    const count = Number(statement(state, sql).pluck().get())
    return count === 0 ? [] : [`${count} ${text}`]
  })
}

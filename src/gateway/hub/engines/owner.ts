import { bodyOf } from '../../../files/s3/client.js'
import type { MetaStore } from '../../../storage/meta.js'
import type { HubObjects } from './connect.js'

/** Name of the object that holds the id of the hub to which the objects beside it belong. */
const OWNER_OBJECT = 'hub-node-id'
/** Note of the database: the bucket and prefix that were claimed for it. */
const CLAIMED = 'hub_bucket'

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** Reads whose bucket it is. @returns undefined for nobody's. @throws Error for another content of the object */
export async function bucketOwner({ client, prefix }: HubObjects): Promise<string | undefined> {
  const key = `${prefix}${OWNER_OBJECT}`
  const text = (await client.text({ method: 'GET', key }))?.trim()
  if (text === undefined || UUID.test(text)) return text
  throw new Error(
    `the object ${key} of the bucket ${client.bucket} holds no id of a hub: choose another hub.bytes.prefix`,
  )
}

/**
 * Refuses a bucket and a database of two hubs, before anything is changed.
 *
 * @param nodeId id of the hub in the database; undefined for a database without one
 * @param noted bucket and prefix that were claimed for this database; undefined for none
 */
export function requireOwner(
  objects: Pick<HubObjects, 'client' | 'prefix'>,
  {
    owner,
    nodeId,
    noted,
  }: { owner: string | undefined; nodeId: string | undefined; noted: string | undefined },
): void {
  const place = placeOf(objects)
  if (noted !== undefined && noted !== place)
    throw new Error(
      `the database belongs to the bucket ${noted}, found ${place}: set hub.bytes back, or choose another hub.database.schema`,
    )
  if (owner === undefined && noted !== undefined)
    throw new Error(
      `the bucket ${place} has no object ${OWNER_OBJECT}, expected that of the hub ${nodeId}: it is another bucket, or was emptied`,
    )
  if (owner !== undefined && owner !== nodeId)
    throw new Error(
      `the bucket ${place} belongs to the hub ${owner}, the database to ${nodeId ?? 'no hub yet'}: choose another bucket or hub.bytes.prefix`,
    )
}

/** Claims the bucket for a hub whose owner was checked. */
export async function claimBucket(objects: HubObjects, meta: MetaStore, nodeId: string): Promise<void> {
  const { client, prefix } = objects
  if ((await bucketOwner(objects)) === undefined) {
    const body = bodyOf(Buffer.from(`${nodeId}\n`))
    ;(await client.send({ method: 'PUT', key: `${prefix}${OWNER_OBJECT}`, body }))?.resume()
  }
  // of two that claimed at once, one finds the other's
  requireOwner(objects, { owner: await bucketOwner(objects), nodeId, noted: undefined })
  await meta.note(CLAIMED, placeOf(objects))
}

/** Compares the owner of the bucket with the hub of the database. @throws Error where they differ */
export async function requireOwnBucket(objects: HubObjects, meta: MetaStore): Promise<void> {
  const [owner, nodeId, noted] = await Promise.all([bucketOwner(objects), meta.nodeId(), meta.noted(CLAIMED)])
  requireOwner(objects, { owner, nodeId, noted })
}

/** Reads which bucket was claimed. */
export const claimedBucket = (meta: Pick<MetaStore, 'noted'>): Promise<string | undefined> =>
  meta.noted(CLAIMED)

function placeOf({ client, prefix }: Pick<HubObjects, 'client' | 'prefix'>): string {
  return `${client.bucket}/${prefix}`
}

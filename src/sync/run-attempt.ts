import { AppError } from '../errors.js'
import type { TransferRecord } from '../storage/transfers.js'
import type { UpstreamRecord, UpstreamRows } from '../storage/upstreams.js'
import type { Attempt, AttemptDeps, Progress } from './attempt.js'
import { baseUrlOf } from './endpoint.js'
import { fetchModel } from './fetch-model.js'
import { type ClientSettings, createUpstreamClient, type UpstreamClient } from './http-client.js'
import { discover, type PeerFacts } from './peer.js'
import { pushMultipart, pushSmall, SMALL_BYTES } from './push-multipart.js'
import { pushResumable } from './push-resumable.js'

/** A connection pool and what was found out about an upstream, until its settings change or it refuses something. */
interface Known {
  updatedAtUs: number
  baseUrl: string
  client: UpstreamClient
  peer: PeerFacts | undefined
}

/** Runs single attempts. */
export interface Runner {
  /**
   * One try of one transfer, to its end.
   *
   * @returns the model_info of the upstream, JSON text; null when the row was finished by the transaction that
   *   registered a fetched model
   * @throws AppError, see `classify`
   */
  run(transfer: TransferRecord, signal: AbortSignal, progress: Progress): Promise<string | null>
  /** forgets what was found out about an upstream: it is asked again */
  forgetPeer(upstreamId: number): void
  close(): Promise<void>
}

export function createRunner(
  deps: AttemptDeps,
  upstreams: UpstreamRows,
  settings: ClientSettings & { allowInsecure: readonly string[] },
): Runner {
  const known = new Map<number, Known>()
  const connect = async (upstream: UpstreamRecord): Promise<Known> => {
    const old = known.get(upstream.upstreamId)
    if (old !== undefined && old.updatedAtUs === upstream.updatedAtUs) return old
    await old?.client.close()
    const baseUrl = baseUrlOf(upstream.endpoint, settings.allowInsecure)
    const client = createUpstreamClient(baseUrl, upstream, settings)
    const made = { updatedAtUs: upstream.updatedAtUs, baseUrl, client, peer: undefined }
    known.set(upstream.upstreamId, made)
    return made
  }
  return {
    async run(transfer, signal, progress) {
      const upstream = await upstreams.find(transfer.upstreamId)
      if (upstream === undefined) throw new AppError('NO_UPSTREAM', { upstream_id: transfer.upstreamId })
      const connection = await connect(upstream)
      const { client, baseUrl } = connection
      connection.peer ??= await discover(client, signal)
      const attempt: Attempt = {
        transfer,
        upstream,
        baseUrl,
        client,
        peer: connection.peer,
        signal,
        progress,
      }
      return transfer.kind === 'feedback' ? await push(deps, attempt) : await fetch(deps, attempt)
    },
    forgetPeer(upstreamId) {
      const entry = known.get(upstreamId)
      if (entry !== undefined) entry.peer = undefined
    },
    async close() {
      await Promise.all([...known.values()].map(({ client }) => client.close()))
      known.clear()
    },
  }
}

async function push(deps: AttemptDeps, attempt: Attempt): Promise<string> {
  const { modelId } = attempt.transfer
  const model = modelId === null ? undefined : await deps.register.models.findForTransfer(modelId)
  if (model === undefined) throw new AppError('UNKNOWN_MODEL', { model_id: modelId })
  if (model.isDamaged) throw new AppError('MODEL_DAMAGED', { model_id: modelId })
  if (!attempt.peer.isPeer) return await pushMultipart(deps, attempt, model)
  return model.sizeBytes <= SMALL_BYTES
    ? await pushSmall(deps, attempt, model)
    : await pushResumable(deps, attempt, model)
}

async function fetch(deps: AttemptDeps, attempt: Attempt): Promise<string | null> {
  const { model, isKnown } = await fetchModel(deps, attempt)
  return isKnown ? JSON.stringify({ model_id: model.modelId }) : null
}

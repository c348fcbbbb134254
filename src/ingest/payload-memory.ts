/** A payload in memory that is used again. */
export interface KeptPayload {
  readonly bytes: Buffer
  /** undefined for memory of its own */
  readonly block: Block | undefined
}

/** Memory of several payloads. */
interface Block {
  readonly memory: Buffer
  usedBytes: number
  /** payloads that are kept in it */
  kept: number
}

/** Keeps payloads while they wait to be stored. */
export interface PayloadMemory {
  /** Copies a payload. Exactly one `release` must follow. */
  keep(payload: Uint8Array): KeptPayload
  /** Frees a payload: its bytes are overwritten from now on. */
  release(payload: KeptPayload): void
}

const BLOCK_BYTES = 64 * 1024
/** Largest payload that shares a block. */
const SHARED_BYTES = BLOCK_BYTES / 8
/** Most empty blocks that wait for payloads. */
const SPARE_BLOCKS = 4

/**
 * Creates memory for payloads. The pool of `Buffer` would not do: each of its blocks is in use for long enough to become
 * an old object, and V8 frees those only after tens of megabytes.
 */
export function createPayloadMemory(): PayloadMemory {
  const spare: Block[] = []
  let current = newBlock()
  const nextBlock = (): Block => {
    const block = spare.pop() ?? newBlock()
    block.usedBytes = 0
    return block
  }
  return {
    keep(payload) {
      if (payload.length > SHARED_BYTES) {
        const bytes = Buffer.allocUnsafeSlow(payload.length)
        bytes.set(payload)
        return { bytes, block: undefined }
      }
      if (current.usedBytes + payload.length > BLOCK_BYTES) current = nextBlock()
      const start = current.usedBytes
      current.memory.set(payload, start)
      current.usedBytes += payload.length
      current.kept++
      return { bytes: current.memory.subarray(start, current.usedBytes), block: current }
    },
    release({ block }) {
      if (block === undefined) return
      block.kept--
      if (block.kept > 0) return
      if (block === current) block.usedBytes = 0
      else if (spare.length < SPARE_BLOCKS) spare.push(block)
    },
  }
}

function newBlock(): Block {
  return { memory: Buffer.allocUnsafeSlow(BLOCK_BYTES), usedBytes: 0, kept: 0 }
}

/** Use of a key pair: `signing` is Ed25519, `exchange` is X25519. */
export type NodeKeyUse = 'signing' | 'exchange'

/** Context of an encrypted private key: another encrypted value in its place cannot be decrypted. */
export function nodeKeyContext(use: NodeKeyUse): string {
  return `node_key.private_key/${use}`
}

/** Key pair of this node, both halves raw, 32 bytes each. Contains the private key in the clear: never log it. */
export interface NodeKeyPair {
  readonly publicKey: Uint8Array
  /** null when it was encrypted with another key than that of the key file */
  readonly privateKey: Uint8Array | null
}

/** Key pairs of this node by their use. */
export type NodeKeyPairs = Readonly<Record<NodeKeyUse, NodeKeyPair>>

/** New key pairs of this node. */
type NewKeyPairs = Readonly<Record<NodeKeyUse, { publicKey: Uint8Array; privateKey: Uint8Array }>>

/** Key pairs of this node. Private keys are encrypted at rest. */
export interface NodeKeyRows {
  /** Returns the key pairs; undefined before the first `claim`. */
  find(): Promise<NodeKeyPairs | undefined>
  /** Stores key pairs unless there are some. @returns those that are stored */
  claim(pairs: NewKeyPairs): Promise<NodeKeyPairs>
  /** Stores key pairs in place of others, which are lost then. */
  replace(pairs: NewKeyPairs): Promise<void>
}

/** Public keys of another node. */
export interface NodePeer {
  /** UUID */
  readonly nodeId: string
  /** name for it here */
  readonly name: string
  /** raw Ed25519 key, 32 bytes */
  readonly signingKey: Uint8Array
  /** raw X25519 key, 32 bytes */
  readonly exchangeKey: Uint8Array
  /** may send rows of other nodes */
  readonly isRelay: boolean
  /** base URL by which upstreams of models name it; null for that of the upstream of feeds with its name */
  readonly endpoint: string | null
  readonly addedAtUs: number
}

/** A node to add; without `isRelay` and `endpoint` it has neither. */
export type NewPeer = Omit<NodePeer, 'addedAtUs' | 'isRelay' | 'endpoint'> &
  Partial<Pick<NodePeer, 'isRelay' | 'endpoint'>>

/** Nodes whose public keys are known. */
export interface NodePeers {
  /** @returns undefined when the name or the node is known already */
  add(peer: NewPeer): Promise<NodePeer | undefined>
  /** Finds a node by its name or its UUID. */
  find(nameOrId: string): Promise<NodePeer | undefined>
  /** Returns all, ordered by name. */
  list(): Promise<NodePeer[]>
  /** @returns undefined for an unknown name or UUID */
  remove(nameOrId: string): Promise<NodePeer | undefined>
}

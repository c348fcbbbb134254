/**
 * True when the value of `If-None-Match` names a tag. Weak tags are compared as if they were strong.
 *
 * @param header `*`, or a list of tags
 * @see RFC 9110, section 13.1.2
 */
export function namesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}

import type { Family } from '../../http/metrics.js'

/** Makes a gauge without labels. */
export function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ value }] }
}

/** Makes a counter without labels. */
export function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ value }] }
}

/**
 * Makes a family with one label.
 *
 * @param values label value → sample
 */
export function labelled(
  facts: Pick<Family, 'name' | 'help' | 'type'>,
  label: string,
  values: Record<string, number>,
): Family {
  const samples = Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }))
  return { ...facts, samples }
}

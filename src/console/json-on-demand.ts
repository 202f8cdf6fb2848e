import { actions, button, type Child, h, refill } from './dom.ts'

/** A button that shows JSON and hides it again, and `more` buttons beside it. The JSON is made when it is asked for: it may be long. */
export const jsonOnDemand = (make: () => Child, ...more: readonly Child[]): Child => {
  const place = h('div', { hidden: true })
  const toggle = button('Show as JSON', () => {
    place.hidden = !place.hidden
    if (!place.hasChildNodes()) refill(place, make())
    toggle.textContent = place.hidden ? 'Show as JSON' : 'Hide JSON'
  })
  return [place, actions(toggle, ...more)]
}

import { isReceiving } from './hook-routes.ts'
import { html, pageFor, takesHtml } from './html.ts'
import type { ApiRequest, ApiResponse } from './requests.ts'
import type { Match } from './router.ts'

/** The refusal of a delivery, as a page if a browser shows it to a person. */
export const shownTo = (
  request: ApiRequest,
  matched: Match<object> | null,
  refusal: ApiResponse,
): ApiResponse => {
  if (matched === null || !isReceiving(matched) || !takesHtml(request)) return refusal
  const { detail } = JSON.parse(String(refusal.body))
  const page = pageFor('Your form was not accepted', html`<p>${detail}</p>`)
  return { ...page, status: refusal.status, headers: { ...refusal.headers, ...page.headers } }
}

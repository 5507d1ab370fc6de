//! What every backend does, whatever its database. A backend joins by a [`Backend`] and one line `suite!(…)`; nothing here
//! may know which one it is.

pub mod apply;
pub mod approvals;
pub mod audit;
pub mod claim;
pub mod clock;
pub mod content;
pub mod credentials;
pub mod events;
pub mod friends;
pub mod grants;
pub mod holds;
pub mod keys;
pub mod list;
pub mod needs;
pub mod peers;
pub mod push;
pub mod queue;
pub mod script;
pub mod scripts;
pub mod world;

use std::sync::Arc;

use baton_store::{Observer, Store};

/// One database, with nothing in it at first.
pub trait Backend: Sized + 'static {
    type Store: Store;

    async fn fresh() -> Self;

    /// Opens the store; what was in the memory of an earlier one is not there.
    async fn open(&self, observer: Arc<dyn Observer>) -> Self::Store;

    /// Ends a store, so that it can be opened again.
    async fn close(store: Self::Store);
}

/// Every test of the suite for one backend.
macro_rules! suite {
    ($backend:ty) => {
        $crate::conformance::tests! { $backend;
            apply: create_and_its_inputs_are_one_commit, a_refusal_leaves_nothing, strangers_find_nothing,
                an_end_is_final, the_first_end_wins, appended_chunks_are_all_there,
                sequence_numbers_are_dense, a_direct_message_is_no_task;
            scripts: what_was_answered_is_read_back, the_log_is_read_back, tasks_go_on_after_a_restart;
            content: numbers_are_exact, a_long_history, a_large_artifact, equal_message_ids_are_kept,
                a_retry_replaces_artifacts, any_text;
            keys: a_repeated_create_is_done_once, a_repeated_change_is_done_once, a_repeat_may_be_the_first,
                a_key_stands_for_one_message, keys_are_scoped, one_key_in_parallel, a_key_lives_a_day,
                a_refused_create_takes_no_key;
            claim: oldest_first, not_before_its_time, nobody_claims_twice, only_its_own_agent,
                attempts_are_recorded, orphans_of_other_boots;
            queue: higher_priorities_first, put_off_until_its_time, one_by_its_name, a_budget_admits_so_many,
                so_many_at_a_time, only_the_holder_reports, fifty_attempts_are_kept, what_is_over_is_retired,
                the_oldest_beyond_a_number_are_retired, what_is_owed_is_not_retired, a_retired_tasks_key_is_free;
            clock: a_lease_runs_out, deadlines, an_unanswered_question, what_is_due_is_accepted,
                a_clock_set_back;
            list: newest_status_first, every_filter, equal_times, others_are_invisible, everybodys_tasks, nothing;
            needs: the_longest_waiting_first, attended_once, webhooks_that_fail;
            events: after_any_number, pruning_keeps_the_snapshot, told_in_order;
            grants: create_list_revoke, a_revoked_grant_takes_nothing, open_tasks_of_revoked_grants,
                two_revocations_at_once, a_paused_grant_comes_back, a_rotation_overlaps, a_grant_expires,
                open_tasks_are_counted, tasks_of_a_day_are_counted, a_quota_holds_in_parallel, uses_are_kept,
                users_of_one_grant_do_not_meet;
            credentials: a_name_is_an_id_or_else_a_label, access_tokens_end_with_their_grant,
                a_grant_has_a_hundred_access_tokens;
            approvals: registrations_are_bounded, unused_registrations_go, a_code_gives_tokens_once,
                a_code_is_good_for_one_try, refresh_tokens_turn, one_code_in_parallel,
                approvals_end_with_their_grant, approvals_end_one_by_one, a_client_ends_tokens_of_its_own;
            friends: asked_and_read_back, bounded_by_address_and_in_all, what_was_found_is_kept,
                a_friend_pins_its_card, looks_at_once_and_too_late, a_grant_in_use_does_not_lapse, how_many_wait, approved_once, an_approval_races_a_denial, picked_up_until_used,
                work_is_a_use, what_is_over_gives_nothing, ended_by_time;
            peers: kept_and_watched, a_credential_is_kept_until_the_end;
            audit: told_with_the_change, pages_and_filters, the_chain_breaks_where_it_was_touched;
            holds: kept_until_they_are_let_go;
            push: stored_with_its_task, owed_what_happens_afterwards, what_came_meanwhile_stays_owed,
                failures_suspend_and_a_replay_begins_again, gone_is_the_end_of_one, sixteen_of_a_task,
                only_who_sees_the_task, a_revoked_grant_ends_its_own, targets_and_lists, pruned_with_its_task;
        }
    };
}

macro_rules! tests {
    ($backend:ty; $($module:ident: $($test:ident),+;)+) => {
        $(mod $module {
            use super::*;
            $(#[tokio::test]
            async fn $test() {
                $crate::conformance::$module::$test::<$backend>().await;
            })+
        })+
    };
}

pub(crate) use {suite, tests};

//! What one rank needs on its device before it joins the others.

use super::executor::NcclRequest;
use super::stamper::OpStamper;
use crate::error::{Error, Result};
use crate::executor::pattern::Pattern;
use crate::executor::slots::Slots;
use crate::gpu::{Context, DeviceBuffer, SpinKernel};
use crate::plan::Plan;
use crate::result::Buffers;
use crate::units::format_bytes;

/// Overwritten before each sample where cold buffers are asked for, in units of the L2's size.
const EVICTION_L2S: u64 = 4;

/// Share of the free memory that buffers may take, in percent: NCCL needs its own.
const MEMORY_PERCENT: u64 = 80;

/// The buffers of one rank: allocated before the communicator is made, so that a full GPU is an
/// ordinary error on every rank and not a hang in NCCL. All plans use the same ones.
pub struct NcclBuffers {
    pub(super) send: DeviceBuffer,
    pub(super) receive: DeviceBuffer,
    pub(super) eviction: Option<DeviceBuffer>,
    /// One a plan.
    pub(super) layouts: Vec<Layout>,
    /// What makes gaps between ops, where some plan has any.
    pub(super) spin: Option<SpinKernel>,
    /// What stamps ops, where some plan wants it.
    pub(super) stamper: Option<OpStamper>,
}

/// How one plan's data lies in the buffers.
pub(super) struct Layout {
    pub pattern: Pattern,
    pub slots: Slots,
}

impl NcclBuffers {
    /// Lays out and allocates the plans' buffers on the current device, which is `uuid`.
    ///
    /// # Errors
    /// Exit code 2 for plans whose data cannot be checked, 3 when the GPU's free memory does not
    /// hold them, or its driver compiles no kernel.
    pub fn new(
        plans: &[Plan],
        request: NcclRequest,
        context: &Context,
        uuid: &str,
    ) -> Result<NcclBuffers> {
        let eviction_bytes = match request.buffers {
            Buffers::Warm => 0,
            Buffers::Cold => EVICTION_L2S * request.l2_bytes,
        };
        let share = context.free_bytes()? / 100 * MEMORY_PERCENT / request.ranks_on_gpu;
        let mut layouts = Vec::new();
        let mut slab_bytes = 0;
        for plan in plans {
            let slots = Slots::for_plan(
                plan,
                request.ranks,
                request.buffers,
                request.in_place,
                request.l2_bytes,
            );
            let slab = slots
                .slab_bytes()
                .filter(|slab| {
                    slab.checked_mul(2)
                        .and_then(|slabs| slabs.checked_add(eviction_bytes))
                        .is_some_and(|needed| needed <= share)
                })
                .ok_or_else(|| {
                    Error::environment(format!(
                        "the buffers of {} ({} slots of {} twice) do not fit rank {}'s share of free GPU memory, {}",
                        plan.label,
                        slots.count,
                        format_bytes(slots.stride),
                        request.rank,
                        format_bytes(share)
                    ))
                    .try_this(
                        "fewer --ops, smaller --bytes or --tokens, --buffers warm, or --placement out",
                    )
                })?;
            slab_bytes = slab_bytes.max(slab);
            layouts.push(Layout {
                pattern: Pattern::new(plan.checked_dtype()?, request.ranks)?,
                slots,
            });
        }
        let has_gaps = plans
            .iter()
            .flat_map(|plan| &plan.ops)
            .any(|op| op.gap_us > 0.0);
        let stamped = plans.iter().filter(|plan| plan.stamped);
        let stamped_ops = stamped.map(|plan| plan.ops.len()).max();
        let eviction = match eviction_bytes {
            0 => None,
            bytes => Some(DeviceBuffer::new(bytes as usize)?),
        };
        Ok(NcclBuffers {
            send: DeviceBuffer::new(slab_bytes as usize)?,
            receive: DeviceBuffer::new(slab_bytes as usize)?,
            eviction,
            layouts,
            spin: (has_gaps || stamped_ops.is_some())
                .then(SpinKernel::new)
                .transpose()?,
            stamper: stamped_ops
                .map(|ops| OpStamper::new(ops, uuid))
                .transpose()?,
        })
    }
}
